"""The scripted provider: what can be written down, and what is told of a file that is wrong."""

from pathlib import Path
from typing import Any

import pytest
from gateway_rig import PATHS, PROTOCOLS, ask, opened, request, script_config

from bench.errors import GatewayError
from bench.gateway import CellTraffic, ModelProtocol, UnlimitedPurse, read_script
from bench.gateway.usage import normalise

FIELDS = ("input", "cache_read", "cache_write", "output", "reasoning")
FULL = {"input": 10, "cache_read": 4, "cache_write": 3, "output": 9}


def drive(
    folder: Path,
    protocol: ModelProtocol,
    *replies: Any,
    texts: tuple[str, ...] = ("hi",),
    stream: bool = False,
) -> tuple[list[Any], CellTraffic]:
    with opened(script_config(folder, *replies)) as gateway:
        cell = gateway.open_cell("t1/inc/0", "t1", folder)
        cell.begin("work", UnlimitedPurse())
        answers = [
            ask(cell.socket, PATHS[protocol], request(protocol, text, stream=stream)) for text in texts
        ]
        return answers, cell.close()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_totals_are_what_the_script_declared_to_the_token(
    protocol: ModelProtocol, stream: bool, tmp_path: Path
) -> None:
    retry = {"reply": {"error": {"status": 529}}, "times": 2}
    _, traffic = drive(tmp_path, protocol, retry, {"reply": {"usage": FULL}}, texts=("a",) * 5, stream=stream)
    usage = traffic.usage("work")
    assert (usage.input, usage.cache_read, usage.cache_write, usage.output) == (30, 12, 9, 27)
    assert usage.total_input == 51
    assert traffic.requests() == 5


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("absent", ["input", "output", "cache_read"])
def test_a_field_can_be_absent_on_every_protocol_and_is_unknown_then(
    absent: str, protocol: ModelProtocol, stream: bool, tmp_path: Path
) -> None:
    usage = {name: value for name, value in FULL.items() if name != absent}
    _, traffic = drive(tmp_path, protocol, {"reply": {"usage": usage}}, stream=stream)
    assert getattr(traffic.usage(), absent) is None


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_usage_can_be_absent_as_a_whole(protocol: ModelProtocol, stream: bool, tmp_path: Path) -> None:
    _, traffic = drive(tmp_path, protocol, {"reply": {"text": "x", "usage": None}}, stream=stream)
    record = traffic.records[0]
    assert (record.native, record.settled) == (None, "ceiling")
    assert record.usage == normalise(protocol, None, complete=True).usage


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        ({"fault": "cut", "text": "x"}, "stream-cut"),
        ({"fault": "malformed", "text": "x"}, "malformed"),
        ({"fault": "html"}, "not-the-protocol"),
        ({"fault": "two_terminals", "text": "x"}, "two-terminals"),
        ({"error": {"status": 500}}, "provider-error"),
        ({"error": {"status": 401, "body": "<html>"}}, "key-refused"),
    ],
)
def test_every_fault_can_be_scripted_on_every_protocol(
    reply: dict[str, Any], cause: str, protocol: ModelProtocol, tmp_path: Path
) -> None:
    _, traffic = drive(tmp_path, protocol, {"reply": reply}, stream=True)
    assert traffic.records[0].cause == cause


def test_the_first_rule_that_matches_and_is_not_used_up_answers(tmp_path: Path) -> None:
    replies = [
        {"when": {"contains": "special"}, "reply": {"text": "by content"}},
        {"when": {"task": "t2"}, "reply": {"text": "of another task"}},
        {"when": {"cell": "*/cand/*"}, "reply": {"text": "of another cell"}},
        {"when": {"session": "plan"}, "reply": {"text": "of another session"}},
        {"when": {"protocol": "anthropic_messages"}, "reply": {"text": "of another protocol"}},
        {"when": {"turn": 2}, "reply": {"text": "by turn"}},
        {
            "when": {"task": "t?", "cell": "t1/*", "session": "w*", "model": "model-*"},
            "reply": {"text": "by names"},
            "times": 1,
        },
        {"reply": {"text": "else"}},
    ]
    answers, _ = drive(tmp_path, "openai_chat", *replies, texts=("a", "a", "a", "a special a"))
    texts = [got.json["choices"][0]["message"]["content"] for got in answers]
    assert texts == ["by names", "else", "by turn", "by content"]


def test_only_the_last_message_can_be_asked_for(tmp_path: Path) -> None:
    rule = {"when": {"last_contains": "hello"}, "reply": {"text": "yes"}}
    with opened(script_config(tmp_path, rule, {"reply": {"text": "no"}})) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", UnlimitedPurse())
        messages = [
            {"role": "user", "content": "hello"},
            {"role": "user", "content": [{"type": "text", "text": "bye"}]},
        ]
        asked = request("openai_chat") | {"messages": messages}
        first = ask(cell.socket, PATHS["openai_chat"], asked)
        second = ask(cell.socket, PATHS["openai_chat"], asked | {"messages": messages[::-1]})
    assert [got.json["choices"][0]["message"]["content"] for got in (first, second)] == ["no", "yes"]


@pytest.mark.parametrize(
    ("protocol", "status"), [("anthropic_messages", 403), ("openai_chat", 403), ("openai_responses", 429)]
)
def test_a_request_without_a_reply_is_told_and_ends_the_client(
    protocol: ModelProtocol, status: int, tmp_path: Path
) -> None:
    answers, traffic = drive(tmp_path, protocol, {"when": {"turn": 9}, "reply": {}})
    assert answers[0].status == status
    assert "no reply for turn 0 of session 'work'" in answers[0].json["error"]["message"]
    assert (traffic.records[0].cause, traffic.records[0].settled) == ("no-scripted-reply", "nothing")


def test_counting_is_answered_without_a_rule(tmp_path: Path) -> None:
    with opened(script_config(tmp_path, {"when": {"turn": 9}, "reply": {}})) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        got = ask(cell.socket, "/v1/messages/count_tokens", {"model": "model-1", "messages": []})
    assert got.json["input_tokens"] > 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "script.yaml:1: is empty"),
        ("schema: script/1\nreplies: [", "script.yaml:2"),
        ("schema: script/1\nreplies: []\n", "script.yaml:2"),
        ("schema: script/2\nreplies: [{reply: {}}]\n", "script.yaml:1: schema"),
        ("schema: script/1\nreplies:\n  - reply: {txt: hi}\n", "script.yaml:3"),
        ("schema: script/1\nreplies:\n  - reply: {}\n    when: {trun: 1}\n", "did you mean"),
        ("schema: script/1\nreplies:\n  - reply: {fault: explode}\n", "script.yaml:3"),
        ("schema: script/1\nreplies:\n  - reply: {error: {status: 200}}\n", "script.yaml:3"),
        ("schema: script/1\nreplies:\n  - reply: {delay: -1}\n", "script.yaml:3"),
        ("schema: script/1\nreplies:\n  - reply: {}\n    times: 0\n", "script.yaml:4"),
        ("schema: script/1\nschema: script/1\nreplies: [{reply: {}}]\n", "script.yaml:2"),
    ],
)
def test_a_malformed_script_is_told_with_its_line_before_anything_starts(
    text: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(GatewayError) as error:
        read_script(path)
    assert told in str(error.value)
    assert "docs/scripted-provider.md" in str(error.value)


def test_a_script_may_be_json_and_a_missing_one_is_told(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('{"schema": "script/1", "replies": [{"reply": {"text": "x"}}]}', encoding="utf-8")
    assert read_script(path).replies[0].reply.text == "x"
    with pytest.raises(GatewayError, match="cannot be read"):
        read_script(tmp_path / "absent.yaml")
    assert set(FIELDS) > set(FULL)

"""Recorded once, answered again without a model; no secret in a cassette."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from gateway_rig import (
    KEY,
    PATHS,
    PROTOCOLS,
    ask,
    opened,
    provider,
    provider_config,
    request,
    script_config,
    streamed,
    whole,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bench.errors import GatewayError
from bench.gateway import CellTraffic, GatewayConfig, ModelProtocol, UnlimitedPurse, UpstreamConfig
from bench.gateway.canonical import FIELD_RULES, TEXT_RULES, canonical_request, first_difference, request_key
from bench.gateway.cassette import cassette_path, read_cassettes
from bench.gateway.script import Reply
from bench.gateway.telling import tell

PLANTED = {
    "the key": KEY,
    "another key": "sk-ant-api03-" + "Zz9" * 12,
    "a token": "ghp_" + "a1B2c3D4" * 4,
    "an address": "https://me:hunter2hunter2@example.com/x",
}


def play(
    config: GatewayConfig, folder: Path, *asked: tuple[str, Mapping[str, Any] | bytes], cell: str = "c"
) -> tuple[list[Any], CellTraffic]:
    place = folder / f"cell-{len(list(folder.iterdir()))}"
    place.mkdir()
    with opened(config) as gateway:
        open_cell = gateway.open_cell(cell, "t", place)
        open_cell.begin("work", UnlimitedPurse())
        answers = []
        for path, body in asked:
            try:
                answers.append(ask(open_cell.socket, path, body))
            except OSError:
                answers.append(None)
        return answers, open_cell.close()


def replaying(config: GatewayConfig) -> GatewayConfig:
    return replace(
        config, upstream=UpstreamConfig(kind="replay"), cassettes=config.record, record=None, script=None
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_replay_gives_the_same_bytes_and_the_same_usage_in_the_same_order(
    protocol: ModelProtocol, tmp_path: Path
) -> None:
    usage = {"input": 5, "cache_read": 1, "cache_write": 0, "output": 2}
    replies = [{"reply": {"text": f"answer {number}", "usage": usage}, "times": 1} for number in range(3)]
    config = script_config(tmp_path, *replies, {"reply": {"error": {"status": 529}}})
    asked = [(PATHS[protocol], request(protocol, "same", stream=True))] * 2
    asked += [(PATHS[protocol], request(protocol, "other", stream=True))] * 2
    first, before = play(config, tmp_path, *asked)
    again, after = play(replaying(config), tmp_path, *asked)
    assert [(got.status, got.body) for got in first] == [(got.status, got.body) for got in again]
    assert [got.status for got in again] == [200, 200, 200, 529]
    assert before.usage() == after.usage()
    assert before.usage().output == 6


def test_breaks_are_replayed_as_they_were(tmp_path: Path) -> None:
    cut = {"reply": {"fault": "cut", "text": "x"}, "times": 1}
    config = script_config(tmp_path, cut, {"reply": {"fault": "drop_connection"}})
    asked = [(PATHS["openai_chat"], request("openai_chat", stream=True))] * 2
    first, before = play(config, tmp_path, *asked)
    again, after = play(replaying(config), tmp_path, *asked)
    assert (first[0].body, first[0].broken, first[1]) == (again[0].body, again[0].broken, again[1])
    assert first[1] is None
    assert [each.cause for each in before.records] == [each.cause for each in after.records]


def test_each_cell_gets_its_own_answers(tmp_path: Path) -> None:
    replies = [{"when": {"cell": name}, "reply": {"text": f"for {name}"}} for name in ("one", "two")]
    config = script_config(tmp_path, *replies)
    asked = (PATHS["openai_chat"], request("openai_chat"))
    for name in ("one", "two"):
        play(config, tmp_path, asked, cell=name)
    for name in ("two", "one"):
        (got,), _ = play(replaying(config), tmp_path, asked, cell=name)
        assert got.json["choices"][0]["message"]["content"] == f"for {name}"


@pytest.mark.parametrize(
    ("protocol", "status"), [("anthropic_messages", 403), ("openai_chat", 403), ("openai_responses", 429)]
)
def test_a_miss_names_the_nearest_request_and_the_first_difference(
    protocol: ModelProtocol, status: int, tmp_path: Path
) -> None:
    config = script_config(tmp_path, {"reply": {"text": "x"}})
    texts = ("something else", "please fix the tests in cart.py")
    play(config, tmp_path, *[(PATHS[protocol], request(protocol, text)) for text in texts])
    asked = request(protocol, "please fix the tests in shelf.py")
    (got,), traffic = play(replaying(config), tmp_path, (PATHS[protocol], asked))
    record = traffic.records[0]
    assert (got.status, record.cause, record.settled) == (status, "replay-miss", "nothing")
    message = got.json["error"]["message"]
    where = "input" if protocol == "openai_responses" else "messages[0].content"
    assert f"request 2 of c, first difference at {where}: " in message
    assert "cart.py" in message
    assert "shelf.py" in message


@pytest.mark.parametrize("name", PLANTED)
def test_no_planted_secret_is_in_a_cassette_or_a_log(name: str, tmp_path: Path) -> None:
    secret = PLANTED[name]
    parts = tell("openai_chat", Reply(text=f"it is {secret}!"), "m", "x", stream=True).parts
    told = whole({"error": {"message": f"wrong: {secret}"}}, 401)
    for behaviour in (streamed(*parts), told):
        with provider(behaviour) as server:
            config = provider_config(server.base, tmp_path)
            asked = request("openai_chat", f"my secret is {secret} ok", stream=True)
            _, traffic = play(config, tmp_path, (PATHS["openai_chat"], asked))
        kept = secret.partition("@")[0].rpartition(":")[2].encode()
        assert kept not in traffic.log()
        for path in (tmp_path / "cassettes").iterdir():
            assert kept not in gzip.decompress(path.read_bytes())
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert kept not in everything


def test_a_request_with_a_secret_in_it_is_found_again(tmp_path: Path) -> None:
    config = script_config(tmp_path, {"reply": {"text": "x"}})
    asked = (PATHS["openai_chat"], request("openai_chat", f"say {PLANTED['another key']}"))
    play(config, tmp_path, asked)
    (got,), _ = play(replaying(config), tmp_path, asked)
    assert got.status == 200


def test_a_cassette_that_a_crash_tore_is_read_up_to_there(tmp_path: Path) -> None:
    config = script_config(tmp_path, {"reply": {"text": "x"}})
    play(config, tmp_path, *[(PATHS["openai_chat"], request("openai_chat", text)) for text in ("a", "b")])
    path = cassette_path(tmp_path / "cassettes", "c")
    path.write_bytes(path.read_bytes()[:-5])
    assert len(read_cassettes(tmp_path / "cassettes")) == 1


def test_a_damaged_cassette_is_told(tmp_path: Path) -> None:
    config = script_config(tmp_path, {"reply": {"text": "x"}})
    play(config, tmp_path, *[(PATHS["openai_chat"], request("openai_chat", text)) for text in ("a", "b")])
    path = cassette_path(tmp_path / "cassettes", "c")
    content = bytearray(path.read_bytes())
    content[0] = 0
    path.write_bytes(content)
    with pytest.raises(GatewayError, match="exchange 1 is damaged"), opened(replaying(config)):
        pass


def test_a_folder_without_cassettes_is_told(tmp_path: Path) -> None:
    config = replace(script_config(tmp_path, {"reply": {}}), record=str(tmp_path / "none"))
    with pytest.raises(GatewayError, match="nothing to replay"), opened(replaying(config)):
        pass


def test_recording_can_be_switched_off(tmp_path: Path) -> None:
    config = replace(script_config(tmp_path, {"reply": {}}), record=None)
    play(config, tmp_path, (PATHS["openai_chat"], request("openai_chat")))
    assert not (tmp_path / "cassettes").exists()


VOLATILE = {
    "<uuid>": ("msg_3f2b8a10-1c2d-4e5f-8a9b-0c1d2e3f4a5b", "msg_00000000-1c2d-4e5f-8a9b-0c1d2e3f4a5b"),
    "<time>": ("2026-11-30T19:31:02.5Z", "2026-12-01 08:00"),
    "<date>": ("Today's date is 2026-11-30.", "Today's date is 2027-01-02."),
    "<hash>": ("cc_version=2.1; cch=a1b2c;", "cc_version=2.1; cch=00ff1;"),
    "<scratch>": ("in /tmp/claude-1000/x-1/y", "in /tmp/claude-1000/z/w"),
    "<id>": ("Chunk ID: 9f3a", "Chunk ID: 77bb"),
    "<duration>": ("4 passed in 0.03s", "4 passed in 12.50s"),
}


def test_every_text_rule_makes_two_runs_equal_and_none_hides_another_difference() -> None:
    assert {
        rule.to.removeprefix("cch=").removeprefix("Chunk ID: ").removeprefix("\\g<1>") for rule in TEXT_RULES
    } == set(VOLATILE)
    for mark, (one, other) in VOLATILE.items():
        first, second = (
            canonical_request({"messages": [{"content": f"a {text} b"}]}) for text in (one, other)
        )
        assert first == second
        assert mark in str(first)
        assert canonical_request({"messages": [{"content": f"a {one} c"}]}) != first


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Current date: 2026-11-30\nCurrent", "Current date: 2027-01-02\nCurrent"),  # pi
        ("Today's date: Mon Nov 30 2026\n", "Today's date: Sat Jan 02 2027\n"),  # opencode
    ],
)
def test_the_day_is_left_out_however_an_agent_writes_it(one: str, other: str) -> None:
    first, second = (canonical_request({"system": text}) for text in (one, other))
    assert first == second


def test_every_field_rule_leaves_its_field_out_at_the_top_only() -> None:
    for rule in FIELD_RULES:
        assert canonical_request({"model": "m", rule.name: {"a": 1}}) == {"model": "m"}
        assert canonical_request({"x": {rule.name: 1}}) == {"x": {rule.name: 1}}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(st.dictionaries(st.text(max_size=3), json_values), st.dictionaries(st.text(max_size=3), json_values))
def test_requests_differ_somewhere_exactly_if_their_keys_differ(one: Any, other: Any) -> None:
    same = request_key("p", "/", one) == request_key("p", "/", other)
    # a field that is null and one that is absent differ in the key, and a difference can be shown for the rest
    if same:
        assert first_difference(one, other) is None
    if first_difference(one, other) is not None:
        assert not same


def test_the_order_of_names_and_blanks_do_not_matter(tmp_path: Path) -> None:
    config = script_config(tmp_path, {"reply": {"text": "x"}})
    asked = request("openai_chat")
    play(config, tmp_path, (PATHS["openai_chat"], asked))
    shuffled = json.dumps(dict(reversed(list(asked.items()))), indent=3).encode()
    (got,), _ = play(replaying(config), tmp_path, (PATHS["openai_chat"], shuffled))
    assert got.status == 200

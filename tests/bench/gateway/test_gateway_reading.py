"""Usage is read while an answer passes, however its bytes are cut."""

import json
from typing import Any

import pytest
from gateway_rig import PROTOCOLS
from hypothesis import given
from hypothesis import strategies as st

from bench.gateway import ModelProtocol
from bench.gateway.reading import LARGEST_EVENT, Reading, reader_for
from bench.gateway.script import Reply, ToolCall
from bench.gateway.telling import native_usage, tell

REPLY = Reply(
    text='a "usage" of words, é',
    tools=(ToolCall(name="Bash", input={"command": "ls"}),),
    usage={"input": 10, "cache_read": 4, "cache_write": 3, "output": 9, "reasoning": 2},
)
EVENTS = "text/event-stream; charset=utf-8"


def read(
    protocol: ModelProtocol, content: bytes, cuts: list[int] | None = None, kind: str = EVENTS
) -> Reading:
    reader, places = reader_for(protocol, kind), sorted(cut for cut in cuts or [] if cut <= len(content))
    for start, end in zip([0, *places], [*places, len(content)], strict=True):
        reader.feed(content[start:end])
    return reader.close()


def stream(protocol: ModelProtocol, reply: Reply = REPLY) -> tuple[bytes, ...]:
    return tell(protocol, reply, "served-1", "x", stream=True).parts


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(cuts=st.lists(st.integers(0, 3000)), carriage=st.booleans())
def test_a_stream_states_its_usage_however_it_is_cut(
    protocol: ModelProtocol, cuts: list[int], carriage: bool
) -> None:
    content = b"".join(stream(protocol))
    content = content.replace(b"\n", b"\r\n") if carriage else content
    found = read(protocol, content, cuts)
    assert found == Reading(native=native_usage(protocol, REPLY), served="served-1", complete=True)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_object_states_its_usage(protocol: ModelProtocol) -> None:
    (body,) = tell(protocol, REPLY, "served-1", "x", stream=False).parts
    found = read(protocol, body, kind="application/json")
    assert found == Reading(native=native_usage(protocol, REPLY), served="served-1", complete=True)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(data=st.data())
def test_a_stream_that_lacks_its_end_is_never_complete(protocol: ModelProtocol, data: st.DataObject) -> None:
    content = b"".join(stream(protocol))
    kept = data.draw(st.integers(0, len(content) - 2))
    found = read(protocol, content[:kept])
    assert not found.complete
    assert found.cause == "stream-cut"


def test_of_a_cut_stream_the_stated_part_is_kept() -> None:
    found = read("anthropic_messages", b"".join(stream("anthropic_messages")[:3]))
    assert found.native is not None
    assert found.native["input_tokens"] == 10


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_second_terminal_event_makes_a_stream_incomplete(protocol: ModelProtocol) -> None:
    parts = stream(protocol)
    assert read(protocol, b"".join([*parts, parts[-1]])).cause == "two-terminals"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("junk", [b"data: {oops\n\n", b"data: [1]\n\n", b"data: " + b"[" * 99999 + b"\n\n"])
def test_an_event_that_is_no_object_is_malformed(protocol: ModelProtocol, junk: bytes) -> None:
    assert read(protocol, junk + b"".join(stream(protocol))).cause == "malformed"


@given(st.binary(max_size=400), st.sampled_from([EVENTS, "application/json", "text/html", ""]))
def test_nothing_that_a_provider_sends_raises(content: bytes, kind: str) -> None:
    assert (
        not read("openai_chat", content.replace(b"[DONE]", b""), kind=kind).complete
        or kind == "application/json"
    )


def test_an_endless_line_is_passed_by_in_bounded_memory() -> None:
    reader = reader_for("openai_chat", EVENTS)
    for _ in range(LARGEST_EVENT // 2**20 + 2):
        reader.feed(b"x" * 2**20)
    assert reader.close().cause == "malformed"


@pytest.mark.parametrize(
    ("protocol", "event"),
    [
        (
            "anthropic_messages",
            {"type": "error", "error": {"type": "overloaded_error", "message": "too much"}},
        ),
        ("openai_responses", {"type": "response.failed", "response": {"error": {"message": "too much"}}}),
        ("openai_chat", {"error": {"message": "too much"}}),
    ],
)
def test_an_error_within_a_stream_is_the_providers(protocol: ModelProtocol, event: dict[str, Any]) -> None:
    found = read(protocol, f"data: {json.dumps(event)}\n\n".encode())
    assert found.cause == "provider-error"
    assert "too much" in found.detail


def test_html_is_neither_events_nor_json() -> None:
    assert read("anthropic_messages", b"<html>", kind="text/html").cause == "not-the-protocol"

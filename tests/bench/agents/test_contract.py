"""The session contract: what a stream of JSON lines says, however it arrives and whatever it holds."""

import itertools
import json
import tracemalloc
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.agents import SessionReport, SessionRequest, SkillPlace, Usage, sum_usage
from bench.agents.contract import (
    LONGEST_DETAIL,
    LONGEST_LINE,
    LONGEST_NAME,
    MOST_NAMES,
    MOST_USED,
    ContractParser,
    session_input,
)
from bench.sandbox import Layout

COMPLETED = {"type": "result", "status": "completed", "message": "done"}
COUNTS = ("input", "cache_read", "cache_write", "output", "reasoning", "turns", "requests")


def lines(*events: Any) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def parse(stream: bytes, code: int | None = 0, cuts: Iterable[int] = ()) -> SessionReport:
    """The report of a stream that arrives in pieces, cut at these offsets."""
    parser = ContractParser()
    places = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    for start, end in itertools.pairwise(places):
        parser.feed(stream[start:end])
    return parser.close(code)


def broken(stream: bytes) -> str:
    """Why a stream breaks the contract."""
    report = parse(stream)
    assert report.status == "error"
    return report.detail


# What agents print, and what they should not print.
PIECES = st.sampled_from(
    [
        lines({"type": "skill", "name": "code-review", "ok": True}),
        lines({"type": "skill", "name": "code-review", "ok": False}),
        lines({"type": "usage", "input_tokens": 3, "output_tokens": None}),
        lines({"type": "usage", "cost_usd": 0.25, "turns": 1}),
        lines({"type": "message", "text": "naïve ≤ text"}),
        lines(COMPLETED),
        lines({"type": "result", "status": "gave_up"}),
        b"\n",
        b" \t\r\n",
        b"{\n",
        b"\xff\xfe\n",
        b"[1, 2]\n",
        b'{"type": 7}\n',
        b'{"type": "message"}',
        b"{" * 50_000,
    ]
)
STREAMS = st.lists(PIECES, max_size=8).map(b"".join)


@given(STREAMS, st.lists(st.integers(0, 2**20), max_size=20))
def test_a_stream_says_the_same_however_it_is_cut_into_pieces(stream: bytes, cuts: list[int]) -> None:
    assert parse(stream, cuts=cuts) == parse(stream)


@given(STREAMS)
def test_a_stream_says_the_same_when_it_arrives_byte_by_byte(stream: bytes) -> None:
    few = stream[:400]

    assert parse(few, cuts=range(len(few))) == parse(few)


@given(st.binary(max_size=60) | st.text('{}[]",:type0x\n', max_size=60).map(str.encode))
def test_no_output_whatever_makes_the_parser_fail(stream: bytes) -> None:
    assert parse(stream).status in ("completed", "gave_up", "error")


HOSTILE = [
    {"type": "result", "status": ["completed"]},
    {"type": "result", "status": {"a": 1}},
    {"type": ["result"]},
    {"type": None},
    {"type": "skill", "name": ["a"]},
    {"type": "usage", "input_tokens": {"a": 1}},
    {"type": "usage", "cost_usd": 10**400},
]


@pytest.mark.parametrize("event", HOSTILE)
def test_a_value_of_an_unexpected_type_does_not_make_the_parser_fail(event: Any) -> None:
    assert parse(lines(event)).status == "error"


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_deep_nesting_is_a_broken_contract_and_not_a_crash(opening: bytes) -> None:
    assert "is not JSON" in broken(opening * 100_000 + b"\n")


def test_a_well_formed_session_completes_with_what_it_said() -> None:
    report = parse(
        lines(
            {"type": "skill", "name": "code-review", "ok": True},
            {"type": "message", "text": "reading"},
            {"type": "usage", "input_tokens": 5, "turns": 1},
            COMPLETED,
        )
    )

    assert report == SessionReport(
        status="completed",
        detail="done",
        usage=Usage(input=5, turns=1, source="agent"),
        skills_used=("code-review",),
        events={"message": 1, "result": 1, "skill": 1, "usage": 1},
    )


@pytest.mark.parametrize("status", ["completed", "gave_up", "error"])
def test_the_agent_says_how_its_session_ended(status: str) -> None:
    assert parse(lines({"type": "result", "status": status})).status == status


@pytest.mark.parametrize("message", [None, ""])
def test_a_result_without_a_message_has_no_detail(message: str | None) -> None:
    assert parse(lines({**COMPLETED, "message": message})).detail == ""


def test_a_last_line_without_a_line_break_counts() -> None:
    assert parse(lines(COMPLETED).rstrip(b"\n")).status == "completed"


def test_blank_lines_say_nothing() -> None:
    assert parse(b"\n  \n" + lines(COMPLETED) + b"\n\t\n").status == "completed"


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (b"", "ended without a result event (exit code 0)"),
        (lines({"type": "message"}), "ended without a result event"),
        (lines(COMPLETED, COMPLETED), "line 2 follows the result event"),
        (lines(COMPLETED, {"type": "usage", "turns": 1}), "line 2 follows the result event"),
        (lines({"type": "message"}) + b"Traceback\n" + lines(COMPLETED), "line 2 is not JSON: 'Traceback'"),
        (b"\n\n\xff\n" + lines(COMPLETED), "line 3 is not JSON"),
        (b'{"type":"message","text":"\xff"}\n' + lines(COMPLETED), "line 1 is not JSON"),
        (b'{"type":"usage","cost_usd":NaN}\n' + lines(COMPLETED), "line 1 is not JSON"),
        (b'{"type":"usage","cost_usd":1e999}\n' + lines(COMPLETED), "line 1 is not JSON"),
        (b"[]\n" + lines(COMPLETED), 'line 1 is not an object with a short "type"'),
        (b'"result"\n', 'line 1 is not an object with a short "type"'),
        (b"{}\n" + lines(COMPLETED), 'line 1 is not an object with a short "type"'),
        (lines({"type": "skill", "ok": True}, COMPLETED), "line 1 is a skill event without"),
        (lines({"type": "result"}), "line 1 is a result whose status is none of completed, error, gave_up"),
        (lines({"type": "result", "status": "ok"}), "line 1 is a result whose status is none of"),
    ],
)
def test_what_does_not_follow_the_contract_is_an_error_that_says_where(stream: bytes, reason: str) -> None:
    assert reason in broken(stream)


def test_the_first_fault_is_the_one_that_is_told() -> None:
    assert "line 1 is not JSON" in broken(b"oops\n{}\n" + b"x" * (LONGEST_LINE + 1))


@pytest.mark.parametrize("cut", [None, 1, LONGEST_LINE, LONGEST_LINE + 1])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_of_more_than_one_mebibyte_breaks_the_contract_however_it_arrives(
    cut: int | None, end: bytes
) -> None:
    line = lines({"type": "message", "text": "x" * LONGEST_LINE}).rstrip(b"\n")
    report = parse(line + end + lines(COMPLETED) * bool(end), cuts=() if cut is None else (cut,))

    assert report.status == "error"
    assert f"line 1 is longer than {LONGEST_LINE} bytes" in report.detail


def test_a_line_of_exactly_one_mebibyte_is_read() -> None:
    frame = len(lines({"type": "message", "text": ""})) - 1
    stream = lines({"type": "message", "text": "x" * (LONGEST_LINE - frame)}, COMPLETED)

    assert stream.index(b"\n") == LONGEST_LINE
    assert parse(stream).status == "completed"


def test_an_endless_line_is_read_in_bounded_memory() -> None:
    parser = ContractParser()
    chunk = b"x" * 65_536
    tracemalloc.start()
    try:
        for _ in range(512):
            parser.feed(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert parser.close(0).status == "error"
    assert peak < 8 * LONGEST_LINE


def test_endless_events_are_read_in_bounded_memory() -> None:
    parser = ContractParser()
    chunk = lines({"type": "usage", "turns": 1}) * 100
    parser.feed(chunk)
    tracemalloc.start()
    try:
        for _ in range(40):
            parser.feed(chunk)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert parser.close(None).usage.turns == 41 * 100
    assert after < 50_000


@pytest.mark.parametrize("kind", ["type", "skill"])
def test_endless_new_names_break_the_contract(kind: str) -> None:
    events = (
        {"type": f"t{number}"} if kind == "type" else {"type": "skill", "name": f"s{number}"}
        for number in range(MOST_NAMES + 1)
    )

    assert f"beyond {MOST_NAMES} different types" in broken(lines(*events))


@pytest.mark.parametrize(
    "event", [{"type": "x" * (LONGEST_NAME + 1)}, {"type": "skill", "name": "x" * (LONGEST_NAME + 1)}]
)
def test_a_very_long_name_breaks_the_contract(event: dict[str, str]) -> None:
    assert "short" in broken(lines(event, COMPLETED))


@pytest.mark.parametrize("code", [1, 137, None])
@pytest.mark.parametrize("status", ["completed", "gave_up"])
def test_an_agent_that_wrote_its_result_must_exit_with_0(code: int | None, status: str) -> None:
    report = parse(lines({"type": "result", "status": status}), code)

    assert report.status == "error"
    assert report.detail == f"the agent ended as {status}, then exited with {code} instead of 0"


def test_an_agent_that_reports_an_error_keeps_its_own_words_whatever_its_exit_code() -> None:
    report = parse(lines({"type": "result", "status": "error", "message": "no key"}), 1)

    assert (report.status, report.detail) == ("error", "no key")


def test_a_message_drives_no_terminal_and_is_bounded() -> None:
    report = parse(lines({**COMPLETED, "message": "\x1b[2J" + "x" * 10_000}))

    assert report.detail.startswith(r"\x1b[2J")
    assert len(report.detail) == LONGEST_DETAIL


@pytest.mark.parametrize(
    ("events", "used"),
    [
        ([("a", True), ("b", True)], ("a", "b")),
        ([("b", True), ("a", True), ("b", True)], ("a", "b")),
        ([("a", False)], ()),
        ([("a", False), ("a", True)], ("a",)),
        ([("a", True), ("a", False)], ("a",)),
        ([("a", 1)], ()),
        ([("a", "true")], ()),
        ([("a", None)], ()),
    ],
)
def test_a_skill_was_used_exactly_if_the_agent_once_said_ok_true(
    events: list[tuple[str, Any]], used: tuple[str, ...]
) -> None:
    stream = lines(*({"type": "skill", "name": name, "ok": ok} for name, ok in events), COMPLETED)

    assert parse(stream).skills_used == used


def usage(event: dict[str, Any]) -> Usage:
    return parse(lines({"type": "usage", **event}, COMPLETED)).usage


def test_a_session_that_reports_no_usage_is_unknown_and_measured_by_nobody() -> None:
    assert parse(lines(COMPLETED)).usage == Usage(source="none")


def test_absent_usage_is_unknown_and_a_present_zero_is_zero() -> None:
    assert usage({"input_tokens": 0, "cost_usd": 0}) == Usage(input=0, cost_usd=0.0, source="agent")


@pytest.mark.parametrize("value", [None, True, False, -1, 1.0, 0.5, "3", [3], {}, MOST_USED + 1, 2**70])
def test_a_count_that_is_no_whole_number_from_0_is_unknown(value: Any) -> None:
    assert usage({"input_tokens": value, "turns": 2}) == Usage(turns=2, source="agent")


@pytest.mark.parametrize("value", [None, True, False, -0.01, "0.1", [1], {}, 1e300, 10**400])
def test_a_cost_that_is_no_number_from_0_is_unknown(value: Any) -> None:
    assert usage({"cost_usd": value, "turns": 2}) == Usage(turns=2, source="agent")


def test_every_number_of_a_usage_event_arrives_under_its_own_name() -> None:
    keys = [f"{name}_tokens" if name not in ("turns", "requests") else name for name in COUNTS]
    report = usage(dict(zip(keys, range(1, 8), strict=True)) | {"cost_usd": 0.5})

    assert [getattr(report, name) for name in COUNTS] == list(range(1, 8))
    assert report.cost_usd == 0.5


def test_events_are_summed_and_a_number_that_one_does_not_know_is_unknown() -> None:
    first, second = {"input_tokens": 3, "turns": 1}, {"input_tokens": 4, "turns": None}
    stream = lines({"type": "usage", **first}, {"type": "usage", **second}, COMPLETED)

    assert parse(stream).usage == Usage(input=7, source="agent")


USAGES = st.builds(
    Usage,
    input=st.none() | st.integers(0, 100),
    cost_usd=st.none() | st.integers(0, 100).map(float),
    source=st.sampled_from(["agent", "gateway", "none"]),
)


@given(st.lists(USAGES, min_size=1, max_size=5))
def test_a_sum_is_known_exactly_if_every_part_is(parts: list[Usage]) -> None:
    total = sum_usage(parts)

    known = [part.input for part in parts if part.input is not None]
    assert total.input == (sum(known) if len(known) == len(parts) else None)
    costs = [part.cost_usd for part in parts if part.cost_usd is not None]
    assert total.cost_usd == (sum(costs) if len(costs) == len(parts) else None)


@given(st.lists(USAGES, min_size=1, max_size=4), st.lists(USAGES, min_size=1, max_size=4))
def test_sums_of_sums_are_sums(first: list[Usage], second: list[Usage]) -> None:
    parts = [sum_usage(first), sum_usage(second)]

    total, whole = sum_usage(parts), sum_usage(first + second)
    assert (total.input, total.cost_usd) == (whole.input, whole.cost_usd)


def test_the_sum_of_nothing_is_unknown() -> None:
    assert sum_usage([]) == Usage()


REQUEST = SessionRequest(
    name="review",
    kind="review",
    prompt="Review the change.\n",
    artifact="/output/review.json",
    skills=(SkillPlace("code-review", "/workspace/.claude/skills/code-review"),),
    effort=None,
    model=None,
    seed=7,
)
INSIDE = Layout("/workspace", "/home/agent", "/tmp", "/output")


def test_a_session_reads_exactly_what_the_contract_promises() -> None:
    assert json.loads(session_input(REQUEST, INSIDE)) == {
        "schema": "session/1",
        "session": "review",
        "kind": "review",
        "prompt": "Review the change.\n",
        "paths": {
            "workspace": "/workspace",
            "output": "/output",
            "home": "/home/agent",
            "artifact": "/output/review.json",
            "plan": None,
        },
        "tools": [],
        "skills": [{"name": "code-review", "path": "/workspace/.claude/skills/code-review"}],
        "effort": None,
        "model": None,
        "seed": 7,
    }

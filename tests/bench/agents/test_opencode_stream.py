"""The parser of opencode's events: what the recorded streams of the real program say, and whatever else may come."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.agents.opencode import OpenCodeStream
from bench.measured import SessionReport

STREAMS = Path(__file__).parents[2] / "fixtures" / "agent_streams"


def read(content: bytes, code: int | None = 0, piece: int = 1 << 16) -> SessionReport:
    parser = OpenCodeStream()
    for start in range(0, len(content), piece):
        parser.feed(content[start : start + piece])
    return parser.close(code)


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def finished(reason: str, **tokens: Any) -> dict[str, Any]:
    said = {"input": 5, "output": 3, "reasoning": 2, "cache": {"read": 1, "write": 0}, **tokens}
    return {"type": "step_finish", "part": {"reason": reason, "tokens": said}}


START: dict[str, Any] = {"type": "step_start", "part": {}}
ERROR = {"type": "error", "error": {"name": "APIError", "data": {"message": "no", "statusCode": 500}}}


def called(skill: str, status: str = "completed") -> dict[str, Any]:
    state = {"status": status, "input": {"name": skill}}
    return {"type": "tool_use", "part": {"tool": "skill", "state": state}}


def test_a_recorded_session_is_completed_and_its_skill_proven() -> None:
    report = read((STREAMS / "opencode_ok.jsonl").read_bytes())
    assert (report.status, report.skills_used) == ("completed", ("sk-claude",))
    used = report.usage
    assert (used.input, used.cache_read, used.output, used.reasoning, used.turns) == (1050, 2100, 120, 25, 3)


def test_a_recorded_refusal_of_the_key_is_an_error_that_says_so() -> None:
    report = read((STREAMS / "opencode_401.jsonl").read_bytes(), code=1)
    assert report.status == "error"
    assert "APIError 401: Incorrect API key" in report.detail


@pytest.mark.parametrize("piece", [1, 7, 4096])
def test_how_the_bytes_come_is_of_no_consequence(piece: int) -> None:
    content = (STREAMS / "opencode_in_cell.jsonl").read_bytes()
    assert read(content, piece=piece) == read(content)


def test_a_skill_that_was_not_found_is_no_proof() -> None:
    assert read(lines(START, called("a", "error"), finished("stop"))).skills_used == ()


def test_only_the_last_step_says_how_it_ended() -> None:
    assert read(lines(START, finished("tool-calls"), START, finished("stop"))).status == "completed"
    assert read(lines(START, finished("stop"), START, finished("tool-calls"))).status == "error"
    assert read(lines(START, finished("stop"), START)).status == "error"


def test_an_error_that_a_later_step_got_over_is_none() -> None:
    assert read(lines(START, ERROR, START, finished("stop"))).status == "completed"
    assert read(lines(START, finished("stop"), ERROR)).status == "error"


def test_an_answer_that_was_cut_at_its_length_is_the_agents_failure() -> None:
    assert read(lines(START, finished("length"))).status == "gave_up"


def test_another_exit_code_is_an_error() -> None:
    assert "exited with 3" in read(lines(START, finished("stop")), code=3).detail


def test_what_a_step_does_not_state_is_unknown_in_the_sum() -> None:
    used = read(lines(START, finished("tool-calls"), START, finished("stop", reasoning=None))).usage
    assert (used.input, used.output, used.reasoning) == (10, None, None)


@given(st.binary(max_size=4000), st.sampled_from([0, 1, None]))
def test_no_output_breaks_the_parser(content: bytes, code: int | None) -> None:
    assert read(content, code).status == "error"


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["part", "state", "tokens", "error", "data", "input", "name", "tool", "reason"]
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=12,
    )
)
def test_events_of_any_shape_are_read(part: Any) -> None:
    kinds = ("step_start", "step_finish", "tool_use", "error")
    report = read(lines(*({"type": kind, "part": part, "error": part} for kind in kinds)))
    assert report.status == "error"

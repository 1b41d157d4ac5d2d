"""The parser of pi's events: what the recorded streams of the real program say, and whatever else may come."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.agents import SkillPlace
from bench.agents.pi import PiStream
from bench.measured import SessionReport

STREAMS = Path(__file__).parents[2] / "fixtures" / "agent_streams"
ROOT = ".claude/skills"
GREET = SkillPlace("greet", f"/workspace/{ROOT}/greet")
FILE = f"{GREET.path}/SKILL.md"


def read(content: bytes, code: int | None = 0, piece: int = 1 << 16) -> SessionReport:
    parser = PiStream([GREET], ROOT)
    for start in range(0, len(content), piece):
        parser.feed(content[start : start + piece])
    return parser.close(code)


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def answer(reason: str, **more: Any) -> dict[str, Any]:
    usage = {"input": 5, "output": 3, "cacheRead": 2, "cacheWrite": 1}
    content = [{"type": "text", "text": "Done."}]
    message = {"role": "assistant", "stopReason": reason, "usage": usage, "content": content, **more}
    return {"type": "message_end", "message": message}


def called(path: str, tool: str = "read", failed: bool = False, **more: Any) -> list[dict[str, Any]]:
    start = {
        "type": "tool_execution_start",
        "toolCallId": "1",
        "toolName": tool,
        "args": {"path": path, **more},
    }
    return [start, {"type": "tool_execution_end", "toolCallId": "1", "isError": failed}]


TURN: dict[str, Any] = {"type": "turn_start"}


def test_a_recorded_session_is_completed_and_its_skill_proven() -> None:
    report = read((STREAMS / "pi_ok.jsonl").read_bytes())
    assert (report.status, report.skills_used) == ("completed", ("greet",))
    used = report.usage
    assert (used.input, used.cache_read, used.cache_write, used.output, used.turns) == (
        157,
        6000,
        3050,
        40,
        3,
    )


def test_a_recorded_refusal_of_the_key_is_an_error_though_the_exit_code_is_0() -> None:
    report = read((STREAMS / "pi_401.jsonl").read_bytes())
    assert report.status == "error"
    assert "invalid x-api-key" in report.detail


@pytest.mark.parametrize("piece", [1, 7, 4096])
def test_how_the_bytes_come_is_of_no_consequence(piece: int) -> None:
    content = (STREAMS / "pi_ok.jsonl").read_bytes()
    assert read(content, piece=piece) == read(content)


@pytest.mark.parametrize("path", [FILE, f"{ROOT}/greet/SKILL.md", f"./{ROOT}/greet/../greet/SKILL.md"])
def test_reading_the_skills_file_is_the_proof_however_it_is_named(path: str) -> None:
    assert read(lines(TURN, *called(path), answer("stop"))).skills_used == ("greet",)


@pytest.mark.parametrize(
    "call",
    [
        called(FILE, failed=True),
        called(FILE, offset=40),
        called(FILE, tool="write"),
        called(f"{GREET.path}/more.md"),
        called("/elsewhere/greet/SKILL.md"),
        called(FILE)[:1],
        called(FILE)[1:],
    ],
    ids=["failed", "not from the start", "another tool", "another file", "elsewhere", "no result", "no call"],
)
def test_nothing_else_is_a_proof(call: list[dict[str, Any]]) -> None:
    assert read(lines(TURN, *call, answer("stop"))).skills_used == ()


def test_only_the_last_answer_says_how_it_ended() -> None:
    failed = answer("error", errorMessage="529 overloaded")
    assert read(lines(TURN, failed, TURN, answer("stop"))).status == "completed"
    assert read(lines(TURN, answer("stop"), TURN, failed)).status == "error"
    assert read(lines(TURN, answer("stop"), TURN)).status == "error"
    assert read(lines(TURN, answer("toolUse"))).status == "error"


def test_an_answer_without_content_is_no_answer() -> None:
    assert read(lines(TURN, answer("stop", content=[]))).status == "error"


def test_an_answer_that_was_cut_at_its_length_is_the_agents_failure() -> None:
    assert read(lines(TURN, answer("length"))).status == "gave_up"


def test_another_exit_code_is_an_error() -> None:
    assert "exited with 3" in read(lines(TURN, answer("stop")), code=3).detail


def test_what_an_answer_does_not_state_is_unknown_in_the_sum() -> None:
    used = read(lines(TURN, answer("toolUse", usage={"input": 5}), TURN, answer("stop"))).usage
    assert (used.input, used.output) == (10, None)


@given(st.binary(max_size=4000), st.sampled_from([0, 1, None]))
def test_no_output_breaks_the_parser(content: bytes, code: int | None) -> None:
    assert read(content, code).status == "error"


NAMES = ["message", "role", "usage", "args", "path", "content", "stopReason"]
ANYTHING = st.recursive(
    st.none() | st.integers() | st.sampled_from(["assistant", "error", "read"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=12,
)


@given(ANYTHING)
def test_events_of_any_shape_are_read(part: Any) -> None:
    kinds = ("turn_start", "tool_execution_start", "tool_execution_end", "message_end")
    report = read(lines(*({"type": kind, "message": part, "args": part} for kind in kinds)))
    assert report.status == "error"

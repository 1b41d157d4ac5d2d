"""Parsers on what the real programs printed: claude 2.1.332 and codex 0.171.0, their models scripted."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.agents import SkillPlace
from bench.agents.claude_code import ClaudeStream
from bench.agents.codex import CodexStream
from bench.agents.lines import LONGEST_LINE, TOO_LONG, EventLines
from bench.measured import SessionReport

STREAMS = Path(__file__).parent / "streams"
CODEX_SKILLS = (SkillPlace("sk-agents", "/workspace/.agents/skills/sk-agents"),)


def stream(name: str) -> bytes:
    return (STREAMS / f"{name}.jsonl").read_bytes()


def claude(data: bytes, code: int | None = 0, size: int = 1000) -> SessionReport:
    parser = ClaudeStream()
    for start in range(0, len(data), size):
        parser.feed(data[start : start + size])
    return parser.close(code)


def codex(data: bytes, code: int | None = 0) -> SessionReport:
    parser = CodexStream(CODEX_SKILLS)
    parser.feed(data)
    return parser.close(code)


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("claude_skill_write_bash", "completed"),
        ("claude_subagent", "completed"),
        ("claude_background_subagent_two_results", "completed"),
        ("claude_529_then_ok", "completed"),
        ("claude_max_turns", "gave_up"),
        ("claude_max_budget", "gave_up"),
        ("claude_401", "error"),
        ("claude_byte_watchdog", "error"),
        ("claude_bad_stream_no_fallback", "error"),
        ("claude_sigint_during_tool", "error"),
    ],
)
def test_how_claude_code_ended_is_read_from_its_last_result_whatever_its_exit_code(
    name: str, status: str
) -> None:
    for code in (0, 1, 143, None):
        assert claude(stream(name), code).status == status


def test_a_stream_without_its_last_event_is_a_session_that_broke() -> None:
    whole = stream("claude_skill_write_bash")
    assert claude(whole[: whole.rindex(b'"type":"result"') - 2000]).status == "error"
    assert claude(b"").status == "error"
    assert codex(b"").status == "error"


def test_a_skill_was_used_only_if_its_call_did_not_fail() -> None:
    whole = stream("claude_skill_write_bash")
    assert claude(whole).skills_used == ("greet",)
    failed = whole.replace(
        b'"content":"Launching skill: greet"', b'"is_error":true,"content":"Unknown skill"'
    )
    assert failed != whole
    assert claude(failed).skills_used == ()
    uncalled = whole.replace(b'"name":"Skill"', b'"name":"Other"')
    assert claude(uncalled).skills_used == ()


def test_what_claude_code_says_that_it_used_includes_its_subagents_once() -> None:
    usage = claude(stream("claude_subagent")).usage
    assert (usage.input, usage.output) == (1320, 132)


def test_codex_used_a_skill_if_a_command_showed_its_file() -> None:
    whole = stream("codex_in_cell")
    assert codex(whole).skills_used == ("sk-agents",)
    assert codex(whole.replace(b'"exit_code":0', b'"exit_code":1')).skills_used == ()
    assert codex(whole.replace(b"name: sk-agents", b"no such file")).skills_used == ()


@pytest.mark.parametrize(("name", "status"), [("codex_ok", "completed"), ("codex_401", "error")])
def test_how_codex_ended_is_read_from_the_end_of_its_turn(name: str, status: str) -> None:
    report = codex(stream(name))
    assert report.status == status
    assert (report.usage.input is None) == (status == "error")


@given(st.integers(1, 5000))
def test_it_does_not_matter_in_what_pieces_a_stream_arrives(size: int) -> None:
    whole = stream("claude_skill_write_bash")
    assert claude(whole, size=size) == claude(whole)


@given(st.binary(max_size=400))
def test_no_bytes_make_a_parser_raise(noise: bytes) -> None:
    whole = stream("claude_skill_write_bash")
    assert claude(noise + b"\n" + whole).status == "completed"
    assert codex(noise + b"\n" + stream("codex_ok")).status == "completed"


def test_a_line_without_end_takes_no_more_memory_than_the_longest() -> None:
    lines = EventLines()
    for _ in range(40):
        assert list(lines.feed(b"x" * (LONGEST_LINE // 16))) == []
    assert list(lines.feed(b'\n{"type":"later"}\n')) == [{"type": "later"}]
    assert lines.counts == {TOO_LONG: 1, "later": 1}

"""What a session's requests say of how it ended."""

import pytest

from bench.arms.judge import judge_session
from bench.arms.line import cost_of, model_fault, with_usage
from bench.arms.model import ModelFault, Session
from bench.gateway import Cause, Rates, RequestRecord, TokenUsage
from bench.measured import Captured, End, ProcessResult, SessionReport, Usage

NOTHING = Captured(b"", b"", 0)
KNOWN = TokenUsage(input=10, cache_read=0, cache_write=0, total_input=10, output=1)


def record(cause: Cause | None = None, ms: float = 10.0, last: float | None = 10.0) -> RequestRecord:
    return RequestRecord(
        seq=1, session="work", protocol="openai_chat", path="/", model="m", ms=ms, bytes_in=1, bytes_out=1,
        cause=cause, last_byte_ms=last, usage=KNOWN,
    )  # fmt: skip


def session(fault: ModelFault | None, status: str = "error", end: End = End.EXITED) -> Session:
    return Session(
        name="work",
        result=ProcessResult(end=end, code=0, detail="", stdout=NOTHING, stderr=NOTHING, seconds=10.0),
        report=SessionReport(status=status, detail="", usage=Usage()),  # type: ignore[arg-type]
        artifact=None,
        fault=fault,
    )


def ending(
    *records: RequestRecord, status: str = "error", end: End = End.EXITED
) -> tuple[str, str | None] | None:
    broke = end is not End.EXITED or status != "completed"
    found = judge_session(session(model_fault(records, 10.0 if broke else None), status, end), "work")
    return None if found is None else (found.status, found.kind)


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        ("provider-error", ("failed", "provider-error")),
        ("key-refused", ("failed", "provider-error")),
        ("unreachable", ("failed", "provider-error")),
        ("replay-miss", ("failed", "provider-error")),
        ("too-many-requests", ("measured", "agent-gave-up")),
        ("not-served", ("failed", "session-error")),
        ("budget", ("stopped", "budget-exhausted")),
    ],
)
def test_a_session_that_broke_is_judged_by_its_last_request(cause: Cause, kind: tuple[str, str]) -> None:
    assert ending(record(), record(cause)) == kind


def test_an_agent_that_got_over_a_failure_has_completed() -> None:
    assert ending(record("provider-error"), record(), status="completed") is None
    assert ending(record("provider-error"), record()) == ("failed", "session-error")


@pytest.mark.parametrize(
    "cause", ["not-the-protocol", "malformed", "stream-cut", "connection-dropped", "distrusted"]
)
def test_an_agent_that_takes_a_broken_answer_for_its_last_one_is_the_providers_failure(cause: Cause) -> None:
    assert ending(record(), record(cause), status="completed") == ("failed", "provider-error")


def test_a_budget_that_ended_stops_the_cell_whatever_the_agent_says() -> None:
    assert ending(record("budget"), record(), status="completed") == ("stopped", "budget-exhausted")


@pytest.mark.parametrize(
    ("ms", "last", "kind"),
    [(9000, None, "provider-error"), (9000, 8000, "agent-timeout"), (900, None, "agent-timeout")],
)
def test_a_time_out_is_the_providers_if_it_was_silent_for_half_of_the_session(
    ms: float, last: float | None, kind: str
) -> None:
    found = ending(record("client-left", ms, last), end=End.TIMEOUT)
    assert found is not None
    assert found[1] == kind


def test_a_session_that_was_cancelled_is_nothing_else() -> None:
    assert ending(record("provider-error"), end=End.CANCELLED) == ("stopped", "cancelled")


def test_the_agents_own_report_stays_where_it_differs_and_its_turns_are_kept() -> None:
    measured = Usage(input=10, cache_read=0, cache_write=0, output=1, requests=1, source="gateway")
    same = SessionReport(
        status="completed", detail="", usage=Usage(input=10, output=1, turns=4, source="agent")
    )
    assert with_usage(same, measured).reported is None
    assert with_usage(same, measured).usage.turns == 4
    other = SessionReport(status="completed", detail="", usage=Usage(input=9, output=1, source="agent"))
    assert with_usage(other, measured).reported == other.usage


def test_the_cost_is_unknown_if_that_of_one_request_is() -> None:
    rates = Rates(input=2, output=3)
    assert cost_of([record(), record()], rates) == 2 * (10 * 2 + 3) / 1e12
    assert cost_of([record(), record()], None) is None
    unknown = RequestRecord(
        seq=2, session="work", protocol="openai_chat", path="/", model="m", ms=1.0, bytes_in=1, bytes_out=1,
        usage=TokenUsage(input=1),
    )  # fmt: skip
    assert cost_of([record(), unknown], rates) is None

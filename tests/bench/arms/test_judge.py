"""From what a cell left to its outcome: the rules that decide what counts as a measurement."""

import itertools
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.agents import SessionReport, Usage
from bench.arms.judge import (
    LONGEST_DETAIL,
    Checks,
    Finding,
    invoked,
    judge_checks,
    judge_session,
    outcome,
    review_passed,
)
from bench.arms.model import Session
from bench.config import SessionKind
from bench.results import KINDS_OF_STATUS
from bench.sandbox import Captured, End, ProcessResult
from bench.scoring import ReviewScore

EMPTY = Captured(b"", b"", 0)
KINDS: tuple[SessionKind, ...] = get_args(SessionKind)


def session(
    end: End = End.EXITED,
    status: str = "completed",
    *,
    skills: tuple[str, ...] = (),
    stderr: bytes = b"",
    artifact: bytes | None = b"left",
) -> Session:
    return Session(
        name="review",
        result=ProcessResult(
            end=end,
            code=0 if end is End.EXITED else None,
            detail="what the sandbox said",
            stdout=EMPTY,
            stderr=Captured(stderr, b"", len(stderr)),
            seconds=1.0,
        ),
        report=SessionReport(
            status=status,  # type: ignore[arg-type]
            detail="what the agent said",
            usage=Usage(),
            skills_used=skills,
        ),
        artifact=artifact,
    )


def score(*, wrong: int = 0, missed: int = 0, verdict_right: bool = True) -> ReviewScore:
    return ReviewScore(
        true_positives=2,
        false_positives=wrong,
        false_negatives=missed,
        precision=None,
        recall=None,
        f1=None,
        weighted_precision=None,
        weighted_recall=None,
        weighted_f1=None,
        blocker_recall=None,
        severity_accuracy=None,
        category_accuracy=None,
        verdict_right=verdict_right,
        clean_control=False,
        clean_pass=None,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_that_completed_is_judged_by_its_answer(kind: SessionKind) -> None:
    assert judge_session(session(), kind) is None


@pytest.mark.parametrize(
    ("end", "status", "kind"),
    [
        (End.TIMEOUT, "measured", "agent-timeout"),
        (End.CANCELLED, "stopped", "cancelled"),
        (End.SPAWN_FAILED, "failed", "infra-error"),
        (End.KILLED, "failed", "session-error"),
        (End.OVERFLOW, "failed", "session-error"),
    ],
)
@pytest.mark.parametrize("said", ["completed", "gave_up", "error"])
def test_how_the_process_ended_weighs_more_than_what_the_agent_said(
    end: End, status: str, kind: str, said: str
) -> None:
    found = judge_session(session(end, said), "review")

    assert found is not None
    assert (found.status, found.kind) == (status, kind)


def test_only_limits_of_the_agent_s_own_are_measurements() -> None:
    ends = itertools.product(End, ("completed", "gave_up", "error"), KINDS)
    measured = {
        found.kind
        for end, said, kind in ends
        if (found := judge_session(session(end, said, artifact=None), kind)) and found.status == "measured"
    }

    assert measured == {"agent-timeout", "agent-gave-up", "plan-missing"}


def test_an_agent_that_gave_up_has_failed_the_task_in_its_own_words() -> None:
    assert judge_session(session(status="gave_up"), "work") == Finding(
        "measured", "agent-gave-up", "what the agent said"
    )


def test_a_broken_session_shows_the_end_of_what_it_printed_on_stderr() -> None:
    found = judge_session(session(status="error", stderr=b"a" * 5000 + b"the cause\n"), "review")

    assert found is not None
    assert (found.status, found.kind) == ("failed", "session-error")
    assert found.detail.startswith("what the agent said\nstderr: ")
    assert found.detail.endswith("the cause")
    assert len(found.detail) < LONGEST_DETAIL


def test_a_broken_session_without_stderr_says_what_the_agent_said() -> None:
    found = judge_session(session(status="error"), "review")

    assert found is not None
    assert found.detail == "what the agent said"


@pytest.mark.parametrize("artifact", [None, b"", b" \n"])
def test_a_planning_session_owes_a_plan(artifact: bytes | None) -> None:
    found = judge_session(session(artifact=artifact), "plan")

    assert found is not None
    assert (found.status, found.kind) == ("measured", "plan-missing")


SKILLS = st.sets(st.sampled_from(["a", "b", "c"]))


@given(SKILLS, st.lists(SKILLS, max_size=3))
def test_the_skills_were_invoked_exactly_if_each_was_used_in_some_session(
    expected: set[str], used: list[set[str]]
) -> None:
    sessions = [session(skills=tuple(sorted(skills))) for skills in used]

    everything = set().union(*used)
    assert invoked(sorted(expected), sessions) == (None if not expected else expected <= everything)


@pytest.mark.parametrize(
    ("checks", "skill_invoked", "kind"),
    [
        (Checks(), None, None),
        (Checks(), True, None),
        (Checks(), False, "skill-not-invoked"),
        (Checks(oracle_passed=False), False, "skill-not-invoked"),
        (Checks(verify_passed=False), True, "verify-failed"),
        (Checks(verify_passed=False, oracle_passed=False), True, "verify-failed"),
        (Checks(verify_passed=True, oracle_passed=False), True, "oracle-failed"),
        (Checks(oracle_passed=False, worked=False), True, "oracle-failed"),
        (Checks(oracle_passed=True, worked=False), True, "no-work-produced"),
        (Checks(verify_passed=True, oracle_passed=True), True, None),
    ],
)
def test_a_checked_answer_is_always_a_measurement(
    checks: Checks, skill_invoked: bool | None, kind: str | None
) -> None:
    found, *_ = judge_checks(checks, skill_invoked)

    assert (found.status, found.kind) == ("measured", kind)


def test_a_wrong_review_says_what_was_wrong_with_it() -> None:
    wrong = score(wrong=1, missed=3, verdict_right=False)

    (found,) = judge_checks(Checks(score=wrong, oracle_passed=review_passed(wrong)), skill_invoked=True)

    assert found.detail == "2 found, 1 invented, 3 missed, verdict wrong"


@given(st.integers(0, 2), st.integers(0, 2), st.booleans())
def test_a_review_passes_exactly_if_it_is_right_in_everything(wrong: int, missed: int, right: bool) -> None:
    passed = review_passed(score(wrong=wrong, missed=missed, verdict_right=right))

    assert passed == (wrong == 0 and missed == 0 and right)


@pytest.mark.parametrize("skill_invoked", [None, True, False])
def test_only_a_measurement_without_a_kind_is_resolved(skill_invoked: bool | None) -> None:
    findings = [Finding("measured", None)] + [
        Finding(status, kind) for status, kinds in KINDS_OF_STATUS.items() for kind in sorted(kinds)
    ]

    resolved = [each for each in findings if outcome(each, Checks(), skill_invoked).resolved]

    assert resolved == [Finding("measured", None)]


def test_an_outcome_records_what_was_checked_and_what_was_not() -> None:
    checks = Checks(verify_passed=True, oracle_passed=None)

    recorded = outcome(Finding("measured", None), checks, None, ["a note"])

    assert (recorded.verify_passed, recorded.oracle_passed, recorded.skill_invoked) == (True, None, None)
    assert recorded.diagnostics == ("a note",)


def test_texts_of_an_outcome_are_bounded() -> None:
    recorded = outcome(Finding("failed", "infra-error", "x" * 9999), Checks(), None, ["y" * 9999])

    assert len(recorded.detail) == len(recorded.diagnostics[0]) == LONGEST_DETAIL


def test_a_broken_measurement_without_a_kind_cannot_be_recorded() -> None:
    with pytest.raises(ValueError, match="needs a kind"):
        outcome(Finding("failed", None), Checks(), None)

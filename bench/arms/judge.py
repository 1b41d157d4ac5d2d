"""From what a cell left to its outcome. Pure: every rule of bench/arms that can be wrong stands here."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from bench.arms.model import LARGEST_ARTIFACT, Session
from bench.config import SessionKind
from bench.measured import End
from bench.results import Kind, Outcome, Status
from bench.scoring import ReviewScore

LONGEST_DETAIL = 2000


class Finding(Struct, frozen=True):
    """A status, a kind and what there is to say about it."""

    status: Status
    kind: Kind | None
    detail: str = ""


class Checks(Struct, frozen=True, kw_only=True):
    """What scoring found: None where there was nothing to check, or where it came to no check. `ends` says how
    the checks `verify` and `oracle` ended.
    """

    score: ReviewScore | None = None
    verify_passed: bool | None = None
    oracle_passed: bool | None = None
    worked: bool = True
    ends: Mapping[str, End] = {}


def judge_session(session: Session, kind: SessionKind) -> Finding | None:
    """What ended a session that did not complete, or that left no plan, or none of a bearable size, where one was
    due; else None.

    An agent that ran into its own limits has failed the task: that is measured. A broken process is not.
    """
    return (
        _judge_model(session)
        or _judge_process(session)
        or _judge_report(session)
        or _judge_plan(session, kind)
    )


def _judge_model(session: Session) -> Finding | None:
    """What the gateway saw comes before what became of the agent by it, and before what the agent says: no fault is
    one that it got over.
    """
    fault, end = session.fault, session.result.end
    if fault is None or end in (End.CANCELLED, End.SPAWN_FAILED):
        return None
    said = f"session {session.name}: {fault.detail}"
    if fault.kind == "budget":
        return Finding("stopped", "budget-exhausted", said)
    match fault.kind:
        case "provider":
            return Finding("failed", "provider-error", said)
        case "too-many":
            return Finding("measured", "agent-gave-up", said)
        case _:
            return None if session.report.status == "gave_up" else Finding("failed", "session-error", said)


def _judge_process(session: Session) -> Finding | None:
    said = f"session {session.name}: {session.result.end}: {session.result.detail}"
    match session.result.end:
        case End.EXITED:
            return None
        case End.CANCELLED:
            return Finding("stopped", "cancelled", "stopped while the session ran")
        case End.TIMEOUT:
            return Finding("measured", "agent-timeout", said)
        case End.SPAWN_FAILED:
            return Finding("failed", "infra-error", said)
        case _:
            return Finding("failed", "session-error", said)


def _judge_report(session: Session) -> Finding | None:
    report = session.report
    if report.status == "gave_up":
        return Finding("measured", "agent-gave-up", report.detail)
    if report.status == "error":
        return Finding("failed", "session-error", _with_stderr(report.detail, session))
    return None


def _judge_plan(session: Session, kind: SessionKind) -> Finding | None:
    plan = session.artifact or b""
    if kind != "plan" or (plan.strip() and len(plan) <= LARGEST_ARTIFACT):
        return None
    left = (
        f"a plan of more than {LARGEST_ARTIFACT:,} bytes: it is not handed on" if plan.strip() else "no plan"
    )
    return Finding("measured", "plan-missing", f"session {session.name} left {left}")


def invoked(expected: Sequence[str], sessions: Sequence[Session]) -> bool | None:
    """Whether every expected skill was used in some session; None where no skill was expected."""
    if not expected:
        return None
    used = {skill for session in sessions for skill in session.report.skills_used}
    return set(expected) <= used


def judge_checks(checks: Checks, skill_invoked: bool | None) -> tuple[Finding, ...]:
    """The findings on a cell whose sessions completed and whose answer was checked: the first one counts."""
    found: tuple[tuple[bool, Kind, str], ...] = (
        (skill_invoked is False, "skill-not-invoked", "the stream does not prove that the skill was used"),
        (checks.verify_passed is False, "verify-failed", f"the visible check {_failure(checks, 'verify')}"),
        (checks.oracle_passed is False, "oracle-failed", _oracle_detail(checks)),
        (not checks.worked, "no-work-produced", "the checks pass on a change of nothing"),
    )
    findings = tuple(Finding("measured", kind, detail) for applies, kind, detail in found if applies)
    return findings or (Finding("measured", None),)


def review_passed(score: ReviewScore) -> bool:
    """A review resolves its task when it finds all, invents nothing and says the right verdict."""
    return score.false_positives == 0 and score.false_negatives == 0 and score.verdict_right


def outcome(
    finding: Finding, checks: Checks, skill_invoked: bool | None, diagnostics: Sequence[str] = ()
) -> Outcome:
    """The outcome that a row records; only a measurement without a kind is resolved."""
    return Outcome(
        status=finding.status,
        kind=finding.kind,
        detail=finding.detail[:LONGEST_DETAIL],
        diagnostics=tuple(note[:LONGEST_DETAIL] for note in diagnostics),
        resolved=finding.status == "measured" and finding.kind is None,
        verify_passed=checks.verify_passed,
        oracle_passed=checks.oracle_passed,
        skill_invoked=skill_invoked,
    )


def _failure(checks: Checks, name: str) -> str:
    """How a check failed: in the words of its tests, or because it did not come to its end."""
    match checks.ends.get(name):
        case End.TIMEOUT:
            return "did not end within the time limit"
        case End.OVERFLOW:
            return "printed too much and was stopped"
        case End.KILLED:
            return "was killed"
        case _:
            return "failed"


def _oracle_detail(checks: Checks) -> str:
    score = checks.score
    if score is None:
        return f"the hidden oracle {_failure(checks, 'oracle')}"
    verdict = "right" if score.verdict_right else "wrong"
    return (
        f"{score.true_positives} found, {score.false_positives} invented, {score.false_negatives} missed, "
        f"verdict {verdict}"
    )


def _with_stderr(detail: str, session: Session) -> str:
    printed = session.result.stderr.text().strip()
    return f"{detail}\nstderr: {printed[-800:]}" if printed else detail

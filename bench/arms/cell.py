"""One cell, from a private working copy to its row. Everything that it makes is removed, whatever happens."""

from pathlib import Path

from msgspec import structs

from bench.arms.checking import check_hidden, check_review, check_visibly
from bench.arms.judge import Checks, Finding, judge_checks
from bench.arms.looking import Look, look_command
from bench.arms.model import Turn
from bench.arms.notebook import Measurement
from bench.arms.places import Place
from bench.arms.sequence import Grounds, run_sessions, unpaid
from bench.arms.signs import read_leftovers, signs_of
from bench.arms.workbench import Workbench
from bench.cancellation import Cancellation
from bench.disk import fresh_folder
from bench.errors import MeasurementError, WorkspaceError
from bench.results import Row, StopCause
from bench.scoring import tampering
from bench.suite import LabelOracle
from bench.workspace import WorkingCopy, capture, remove_tree

PATCH_LIMIT = 2 * 1024 * 1024
# what a test runner prints: it holds seconds, which no two runs share
CHECK_OUTPUT = "verify"
# why the harness itself cancels; every other cause is a signal, and its cells are `cancelled`
STOP_CAUSES: dict[str, StopCause] = {"breaker": "breaker", "deadline": "deadline"}


def measure(bench: Workbench, turn: Turn, cancellation: Cancellation, look: Look | None = None) -> Row:
    """Measure one cell once. Broken measurements become the row's kind; any other exception is a bug.

    `look` is called once the sessions are over, however they ended, before anything is checked.
    """
    record = Measurement(bench, turn)
    folder = fresh_folder(bench.scratch, "c")
    copies: list[WorkingCopy] = []
    try:
        _measure_in(folder, record, copies, cancellation, look)
    except (MeasurementError, OSError) as error:  # a full disk, say: the cell broke, the sweep goes on
        record.finding = Finding("failed", "infra-error", str(error))
    finally:
        with record.timed("teardown"):
            _remove(folder, record, copies)
    _name_the_stop(record, cancellation)
    return record.row()


def _measure_in(
    folder: Path,
    record: Measurement,
    copies: list[WorkingCopy],
    cancellation: Cancellation,
    look: Look | None,
) -> None:
    if cancellation.cancelled:
        record.finding = Finding("stopped", "cancelled", "stopped before it began")
        return
    record.finding = record.look()
    if record.finding is not None:
        return
    closed = record.bench.purse.closed
    if closed is not None and not record.bench.journal.remembers(record.cell):
        record.finding = unpaid(closed)
        return
    record.template = record.bench.templates.build(record.task)
    grounds = Grounds(folder, record, record.template, copies)
    broken = run_sessions(record, grounds, cancellation)
    place = grounds.current
    if look is not None and not cancellation.cancelled:
        look(look_command(record.bench, record.arm, record.task, place))
        record.work_went_on()
    record.finding = (
        broken or _captured(record, place) or _checked(record, place, cancellation) or _judged(record)
    )
    _look_again(record)


def _look_again(record: Measurement) -> None:
    """What was not measured with what the row names is not measured; what it seemed to be stays in sight."""
    changed, first = record.look_again(), record.finding
    if changed is None or first is None or first.status == "stopped":
        return
    if first.detail != changed.detail:
        record.diagnostics.append(
            f"before that: {first.status} {first.kind or 'resolved'} {first.detail}".strip()
        )
    record.finding = changed


def _judged(record: Measurement) -> Finding:
    """The first finding of the checks; the others are kept beside it."""
    first, *others = judge_checks(record.checks, record.skill_invoked())
    record.diagnostics += [f"{other.kind}: {other.detail}" for other in others]
    return first


def _captured(record: Measurement, place: Place) -> Finding | None:
    """Take the change of an arm that may make one."""
    if record.template is None or all(spec.kind == "review" for spec in record.arm.spec.sessions.values()):
        return None
    with record.timed("workspace"):
        record.change = capture(place.copy, record.template, PATCH_LIMIT, changed=record.changed(place.copy))
    if record.change.patch:
        record.keep("patch", record.change.patch)
    return None


def _checked(record: Measurement, place: Place, cancellation: Cancellation) -> Finding | None:
    """Run what judges the answer; a finding if that itself could not be done."""
    bench, task = record.bench, record.task
    if isinstance(task.oracle, LabelOracle):
        review = check_review(task.oracle, record.sessions[-1].artifact)
        record.checks = review.checks
        return review.finding
    with record.timed("verify"):
        verify = check_visibly(bench, task, place, cancellation)
    leftovers = read_leftovers(place, record.changed(place.copy))
    with record.timed("oracle"):
        hidden = check_hidden(bench, task, task.oracle, place, record.changed(place.copy), cancellation)
    if verify is not None:
        record.keep(CHECK_OUTPUT, verify.tail.encode())
    checks = {"oracle": hidden} if verify is None else {"verify": verify, "oracle": hidden}
    worked = record.change is not None and not record.change.empty
    record.checks = Checks(
        verify_passed=verify.passed if verify else None,
        oracle_passed=hidden.passed,
        worked=worked,
        ends={name: check.end for name, check in checks.items()},
    )
    if judge_checks(record.checks, None)[0].kind is None:
        return None
    tried = tampering(signs_of(leftovers, task, record.sessions, checks))
    return Finding("measured", "tampered", "; ".join(tried)) if tried else None


def _remove(folder: Path, record: Measurement, copies: list[WorkingCopy]) -> None:
    """Remove the cell; what cannot be removed makes the row a cleanup failure that keeps the first cause."""
    try:
        for copy in copies:
            copy.remove()
        remove_tree(folder)
    except WorkspaceError as error:
        first = record.finding
        before = f"; before that: {first.status} {first.kind or 'resolved'} {first.detail}" if first else ""
        record.finding = Finding("failed", "cleanup-failure", f"{error}{before}")


def _name_the_stop(record: Measurement, cancellation: Cancellation) -> None:
    """Say which cause stopped a cell. What the harness could not do because it was being stopped was stopped, too;
    what an agent broke stays what it was.
    """
    finding, cause = record.finding, cancellation.cause
    if cause is None or finding is None:
        return
    if finding.kind not in ("cancelled", "infra-error"):  # a stop that has its own cause keeps it
        return
    record.finding = Finding(
        "stopped", STOP_CAUSES.get(cause, "cancelled"), f"stopped by {cause}: {finding.detail}"
    )


def same_measurement(first: Row, second: Row) -> str | None:
    """None if two runs of a deterministic agent agree in everything but time, else what differs. What is only
    remarked says how it was measured, too: in one go, or by two processes.
    """
    outcomes = [structs.replace(row.outcome, diagnostics=()) for row in (first, second)]
    if outcomes[0] != outcomes[1]:
        return "outcome"
    for name in ("score", "usage", "change"):
        if getattr(first, name) != getattr(second, name):
            return name
    differing = [
        name
        for name, kept in first.artifacts.items()
        if name != CHECK_OUTPUT and second.artifacts.get(name) != kept
    ]
    return f"artifact {differing[0]}" if differing else None

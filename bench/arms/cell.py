"""One cell, from a private working copy to its row. Everything that it makes is removed, whatever happens."""

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from bench.agents import Usage, sum_usage
from bench.arms.checking import check_hidden, check_review, check_visibly
from bench.arms.judge import Checks, Finding, invoked, judge_checks, judge_session, outcome
from bench.arms.looking import Look, look_command
from bench.arms.model import Cell
from bench.arms.provenance import identity, provenance
from bench.arms.session import Place, Session, run_session
from bench.arms.signs import read_leftovers, signs_of
from bench.arms.workbench import Arm, Workbench
from bench.cancellation import Cancellation
from bench.config import SessionSpec
from bench.errors import MeasurementError, WorkspaceError
from bench.results import SCHEMA_VERSION, Artifact, ChangeSummary, Row, StopCause, Timings
from bench.sandbox import End
from bench.scoring import ReviewScore, score_review, tampering
from bench.skills import placed_files
from bench.spend import NOTHING, Allowance, SessionName, SessionUse, Stop
from bench.suite import LabelOracle, Task
from bench.workspace import Change, Template, WorkingCopy, capture, outside_boundary, remove_tree

PATCH_LIMIT = 2 * 1024 * 1024
# what a test runner prints: it holds seconds, which no two runs share
CHECK_OUTPUT = "verify"
# why the harness itself cancels; every other cause is a signal, and its cells are `cancelled`
STOP_CAUSES: dict[str, StopCause] = {"breaker": "breaker", "deadline": "deadline"}


class Measurement:
    """The notebook of one cell: what is known so far, from which the row is written at any point."""

    def __init__(self, bench: Workbench, cell: Cell, attempt: int, neighbours: int) -> None:
        self.bench, self.cell, self.attempt = bench, cell, attempt
        self.task: Task = bench.tasks[cell.task]
        self.arm: Arm = bench.arms[cell.arm]
        self.started_at = datetime.now(UTC)
        self.template: Template | None = None
        self.sessions: list[Session] = []
        self.change: Change | None = None
        self.checks = Checks()
        self.finding: Finding | None = None
        self.spent = NOTHING
        self.diagnostics: list[str] = []
        self.artifacts: dict[str, Artifact] = {}
        self._seconds: dict[str, float] = {}
        self._neighbours = neighbours
        self._began = time.monotonic()

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add the seconds of the block to a phase of the row's timings."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._seconds[phase] = self._seconds.get(phase, 0.0) + time.monotonic() - began

    def keep(self, name: str, content: bytes) -> None:
        """Store an artifact, redacted."""
        self.artifacts[name] = self.bench.store.put(self.bench.redactor.bytes(content))

    def session_name(self, session: str) -> SessionName:
        """How the run's budget names a session of this cell."""
        return SessionName(
            generation=self.bench.generation,
            task=self.cell.task,
            arm=self.cell.arm,
            repeat=self.cell.repeat,
            attempt=self.attempt,
            session=session,
        )

    def skill_invoked(self) -> bool | None:
        """Whether the arm's skills were used, once its sessions are over."""
        return invoked(sorted(self.arm.skills), self.sessions) if self.sessions else None

    def row(self) -> Row:
        """The record of the cell as it stands."""
        finding = self.finding or Finding("failed", "infra-error", "the cell ended without a finding")
        redacted = Finding(finding.status, finding.kind, self.bench.redactor.text(finding.detail))
        usages = {session.name: session.report.usage for session in self.sessions}
        return Row(
            schema_version=SCHEMA_VERSION,
            identity=identity(self.bench, self.cell, self.attempt),
            provenance=provenance(self.bench, self.arm, self.task, self.template),
            outcome=outcome(
                redacted,
                self.checks,
                self.skill_invoked(),
                [self.bench.redactor.text(note) for note in self.diagnostics],
            ),
            score=self._score(finding),
            usage=sum_usage(list(usages.values())) if usages else Usage(),
            sessions=usages,
            timings=self._timings(),
            change=self._change_summary(),
            artifacts=self.artifacts,
            started_at=self.started_at,
            finished_at=datetime.now(UTC),
        )

    def _score(self, finding: Finding) -> ReviewScore | None:
        """The score of a measured review; an agent that failed before it left one has found nothing."""
        if finding.status != "measured" or not isinstance(self.task.oracle, LabelOracle):
            return None
        return self.checks.score or score_review(None, self.task.oracle.labels)

    def _timings(self) -> Timings:
        peaks = [each.result.peak_memory for each in self.sessions if each.result.peak_memory is not None]
        return Timings(
            **self._seconds,
            total=time.monotonic() - self._began,
            neighbours=self._neighbours,
            peak_memory=max(peaks, default=None),
        )

    def _change_summary(self) -> ChangeSummary | None:
        if self.change is None:
            return None
        return ChangeSummary(
            files=len(self.change.paths),
            insertions=self.change.insertions,
            deletions=self.change.deletions,
            patch=self.artifacts["patch"].digest if "patch" in self.artifacts else None,
            fingerprint=self.change.fingerprint,
        )


def measure(
    bench: Workbench,
    cell: Cell,
    attempt: int,
    neighbours: int,
    cancellation: Cancellation,
    look: Look | None = None,
) -> Row:
    """Measure one cell once. Broken measurements become the row's kind; any other exception is a bug.

    `look` is called once the sessions are over, however they ended, before anything is checked.
    """
    record = Measurement(bench, cell, attempt, neighbours)
    folder = Path(tempfile.mkdtemp(prefix="c", dir=bench.scratch))
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
    if record.bench.purse.closed is not None:
        record.finding = _unpaid(record.bench.purse.closed)
        return
    place = _make_place(folder, record, copies)
    broken = _run_sessions(record, place, cancellation)
    if look is not None and not cancellation.cancelled:
        look(look_command(record.bench, record.arm, record.task, place))
    record.finding = (
        broken or _captured(record, place) or _checked(record, place, cancellation) or _judged(record)
    )


def _judged(record: Measurement) -> Finding:
    """The first finding of the checks; the others are kept beside it."""
    first, *others = judge_checks(record.checks, record.skill_invoked())
    record.diagnostics += [f"{other.kind}: {other.detail}" for other in others]
    return first


def _make_place(folder: Path, record: Measurement, copies: list[WorkingCopy]) -> Place:
    """The private working copy with the arm's skills in it, an empty home, an empty output folder."""
    bench, arm = record.bench, record.arm
    record.template = bench.templates.build(record.task)
    with record.timed("workspace"):
        for name in ("home", "output", "temporary"):
            (folder / name).mkdir(mode=0o700)
        copy = bench.workspaces.create(record.template, folder)
        copies.append(copy)
        copy.write(placed_files(arm.skills, bench.agent.skill_root))
        for skill in arm.skills.values():
            _stage_skill(folder / "skills" / skill.name, skill.files)
    return Place(folder, bench.sandbox.layout(folder), copy, record.template)


def _stage_skill(folder: Path, files: Mapping[str, bytes]) -> None:
    """The skill's bytes beside the copy, to be mounted read-only over their place in it."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def _run_sessions(record: Measurement, place: Place, cancellation: Cancellation) -> Finding | None:
    """The arm's sessions in order, up to the first that does not complete or breaks its boundary."""
    for name, spec in record.arm.spec.ordered_sessions():
        allowance = record.bench.purse.begin(record.session_name(name), record.spent)
        if isinstance(allowance, Stop):
            return _unpaid(allowance)
        session = _paid_session(record, place, (name, spec), allowance, cancellation)
        record.sessions.append(session)
        stream = session.result.stdout
        record.keep(f"transcript-{name}", stream.head + stream.tail)
        if session.artifact is not None:
            record.keep(f"{spec.kind}-{name}", session.artifact)
        if allowance.clamped and session.result.end is End.TIMEOUT:
            return Finding("stopped", "deadline", f"session {name} was cut off: the run must end")
        broken = judge_session(session, spec.kind) or _boundary_broken(record, place, spec.boundary)
        if broken is not None:
            return broken
        if spec.kind == "plan" and session.artifact is not None:
            place = _with_plan(place, session.artifact)
    return None


def _paid_session(
    record: Measurement,
    place: Place,
    session: tuple[str, SessionSpec],
    allowance: Allowance,
    cancellation: Cancellation,
) -> Session:
    """Run a session that is paid for, and settle what it used, whatever becomes of it."""
    began, ran = time.monotonic(), None
    try:
        with record.timed("sessions"):
            ran = run_session(
                record.bench, record.arm, record.task, place, session, allowance.seconds, cancellation
            )
        return ran
    finally:
        use = _use_of(ran, time.monotonic() - began)
        record.spent = record.spent.plus(record.bench.purse.end(allowance, use))


def _use_of(session: Session | None, seconds: float) -> SessionUse:
    """What there is to count; of a session that broke, or never came to an end, the usage is not the whole."""
    if session is None:
        return SessionUse(usage=Usage(), complete=False, seconds=seconds)
    ended = session.result.end is End.EXITED and session.report.status != "error"
    return SessionUse(usage=session.report.usage, complete=ended, seconds=seconds)


def _unpaid(stop: Stop) -> Finding:
    return Finding("stopped", stop.kind, stop.detail)


def _with_plan(place: Place, plan: bytes) -> Place:
    """The place with the plan out of the reach of the sessions that follow it."""
    path = place.folder / "plan.md"
    path.write_bytes(plan)
    return structs.replace(place, plan=path)


def _boundary_broken(record: Measurement, place: Place, boundary: tuple[str, ...]) -> Finding | None:
    """Whether the session changed the skill under test or a path that it may not change."""
    placed = placed_files(record.arm.skills, record.bench.agent.skill_root)
    changed = [path for path, content in placed.items() if place.copy.read(path) != content]
    if changed:
        return Finding(
            "unusable", "skill-changed", f"the session changed its skill: {', '.join(changed[:5])}"
        )
    outside = outside_boundary([entry.path for entry in place.copy.entries()], boundary)
    if not outside:
        return None
    names = ", ".join(path.decode("utf-8", "backslashreplace") for path in outside[:5])
    return Finding(
        "unusable", "boundary-violated", f"{len(outside)} paths outside the session's boundary: {names}"
    )


def _captured(record: Measurement, place: Place) -> Finding | None:
    """Take the change of an arm that may make one."""
    if record.template is None or all(spec.kind == "review" for spec in record.arm.spec.sessions.values()):
        return None
    with record.timed("workspace"):
        record.change = capture(place.copy, record.template, PATCH_LIMIT)
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
    leftovers = read_leftovers(place)
    with record.timed("oracle"):
        hidden = check_hidden(bench, task, task.oracle, place, cancellation)
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
    """None if two runs of a deterministic agent agree in everything but time, else what differs."""
    for name in ("outcome", "score", "usage", "change"):
        if getattr(first, name) != getattr(second, name):
            return name
    differing = [
        name
        for name, kept in first.artifacts.items()
        if name != CHECK_OUTPUT and second.artifacts.get(name) != kept
    ]
    return f"artifact {differing[0]}" if differing else None

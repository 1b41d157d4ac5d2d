"""The sessions of one cell, one after the other: what each finds, what crosses to the next, what is written down."""

import time
from datetime import UTC, datetime
from pathlib import Path

from bench.arms.journal import SessionEnded
from bench.arms.judge import Finding, judge_session
from bench.arms.line import Owner, open_line
from bench.arms.model import Session
from bench.arms.notebook import Measurement
from bench.arms.places import Place, make_place, renew
from bench.arms.remembering import (
    UNFINISHED,
    Begun,
    Stored,
    damaged_session,
    keep_state,
    remembered_session,
    restore_state,
    session_ended,
    use_of,
)
from bench.arms.session import Grant, run_session
from bench.cancellation import Cancellation
from bench.config import SessionSpec
from bench.measured import End
from bench.results import Artifact
from bench.skills import placed_files
from bench.spend import Allowance, Stop
from bench.workspace import Template, WorkingCopy, outside_boundary

EVERYTHING = ("**",)  # a boundary that nothing is outside of


class Grounds:
    """The places that the sessions of one cell work in, each made when a session needs it.

    What crosses from a plan to the work is the plan alone: the session after it finds another working copy,
    `.git` included, as the template has them. Sessions of other kinds share the copy, for that is the work.
    """

    def __init__(
        self, folder: Path, record: Measurement, template: Template, copies: list[WorkingCopy]
    ) -> None:
        self._folder, self._record, self._template, self._copies = folder, record, template, copies
        self._place: Place | None = None
        self._plan: bytes | None = None
        self._left_behind = True

    @property
    def current(self) -> Place:
        """Where the latest session worked."""
        return self._place or self.next()

    def next(self) -> Place:
        """Where the next session works: with nothing in its home and output folder."""
        with self._record.timed("workspace"):
            if self._place is None or self._left_behind:
                self._place, self._left_behind = self._made(), False
            else:
                renew(self._place)
        return self._place

    def hand_on(self, plan: bytes) -> None:
        """Leave the place, and all that is in it, behind; the next session finds the plan in another one."""
        self._plan, self._left_behind = plan, True

    def _made(self) -> Place:
        bench, arm = self._record.bench, self._record.arm
        folder = self._folder / str(len(self._copies))
        return make_place(folder, bench, arm, self._template, self._copies, self._plan)


def run_sessions(record: Measurement, grounds: Grounds, cancellation: Cancellation) -> Finding | None:
    """The arm's sessions in order, up to the first that does not complete or breaks its boundary. Those that an
    earlier process paid for are taken up as they were.
    """
    specs = record.arm.spec.ordered_sessions()
    done = _usable(record, specs)
    kept: Artifact | None = None
    for entry, (_, spec) in zip(done, specs, strict=False):
        finding = _take_up(record, grounds, entry, spec)
        if finding is not None:
            return finding
        kept = None if spec.kind == "plan" else entry.state or kept
    if kept is not None:
        restore_state(record.bench.store, kept, grounds.current)
    for name, spec in specs[len(done) :]:
        finding = _run(record, grounds, (name, spec), cancellation)
        if finding is not None:
            return finding
    return None


def _usable(record: Measurement, specs: tuple[tuple[str, SessionSpec], ...]) -> tuple[SessionEnded, ...]:
    """The sessions of the cell that an earlier process wrote down, as far as the cell can go on after them."""
    recalled = record.bench.journal.recall(record.cell, again=record.turn.again)
    names = [name for name, _ in specs]
    if not recalled or [entry.name for entry in recalled] != names[: len(recalled)]:
        return ()
    lost = next((entry for entry in recalled if not entry.restorable), None)
    if lost is not None:
        record.diagnostics.append(f"session {lost.name} is run again: what it left could not be kept")
        return ()
    damaged = damaged_session(record.bench.store, recalled)
    if damaged is not None:
        record.diagnostics.append(
            f"session {damaged.name} is run again: what it left is damaged in the store"
        )
        return ()
    return recalled


def _take_up(record: Measurement, grounds: Grounds, entry: SessionEnded, spec: SessionSpec) -> Finding | None:
    """Go on as if the session had just ended."""
    session = remembered_session(entry, record.bench.store)
    grounds.next()
    record.sessions.append(session)
    use = use_of(session, entry.seconds)
    record.paid = record.paid.plus(
        record.bench.purse.counted(record.session_name(entry.name), record.paid, use)
    )
    record.started_at = min(record.started_at, entry.started_at)
    record.spent("sessions", entry.seconds)
    record.artifacts[f"transcript-{entry.name}"] = entry.transcript
    if entry.requests is not None:
        record.artifacts[f"requests-{entry.name}"] = entry.requests
    if entry.artifact is not None:
        record.artifacts[f"{spec.kind}-{entry.name}"] = entry.artifact
    if entry.finding is not None:
        return entry.finding
    _hand_on(grounds, session, spec)
    return None


def _run(
    record: Measurement, grounds: Grounds, named: tuple[str, SessionSpec], cancellation: Cancellation
) -> Finding | None:
    """Run one session that the budget allows, and settle what it used, whatever becomes of it."""
    name = named[0]
    allowance = record.bench.purse.begin(record.session_name(name), record.paid)
    if isinstance(allowance, Stop):
        return unpaid(allowance)
    place, began, ran = grounds.next(), time.monotonic(), None
    try:
        started = datetime.now(UTC)
        with record.timed("sessions"):
            ran, requests = _drive(record, place, named, allowance, cancellation)
        record.sessions.append(ran)
        if requests is not None:
            record.keep(f"requests-{name}", requests)
        record.work_went_on()
        finding = _write_down(record, place, named[1], ran, started, cut=allowance.clamped)
    finally:  # once it is in the journal: what is settled is never paid again
        use = use_of(ran, time.monotonic() - began)
        record.paid = record.paid.plus(record.bench.purse.end(allowance, use))
    if finding is None:
        _hand_on(grounds, ran, named[1])
    return finding


def _drive(
    record: Measurement,
    place: Place,
    named: tuple[str, SessionSpec],
    allowance: Allowance,
    cancellation: Cancellation,
) -> tuple[Session, bytes | None]:
    """Run the session, with its way to the model if it has one; and the log of its requests."""
    bench, arm, task = record.bench, record.arm, record.task
    if bench.model is None:
        grant = Grant(seconds=allowance.seconds)
        return run_session(bench, arm, task, place, named, grant, cancellation), None
    owner = Owner(cell=record.cell.name, task=task.id, session=named[0])
    with open_line(bench.model, owner, place.folder, place.layout, allowance.ceiling) as line:
        grant = Grant(seconds=allowance.seconds, way=line.way, limit=line.limit)
        ran = run_session(bench, arm, task, place, named, grant, cancellation)
    return line.measured(ran)


def _write_down(
    record: Measurement, place: Place, spec: SessionSpec, session: Session, started: datetime, *, cut: bool
) -> Finding | None:
    """Keep what a session left, before anything is made of it; and what it was, if its cell ends with it."""
    stream = session.result.stdout
    transcript = record.keep(f"transcript-{session.name}", stream.head + stream.tail)
    left = None if session.artifact is None else record.keep(f"{spec.kind}-{session.name}", session.artifact)
    if cut and session.result.end is End.TIMEOUT:
        return Finding("stopped", "deadline", f"session {session.name} was cut off: the run must end")
    changed = record.look_again()
    if changed is not None:
        return changed  # not in the journal: nobody may take the session up as what it was meant to be
    finding = judge_session(session, spec.kind) or _boundary_broken(record, place, spec.boundary)
    if session.result.end not in UNFINISHED:
        needed = spec.kind == "work" and finding is None
        state = keep_state(record.bench.store, place, record.changed(place.copy)) if needed else (None, True)
        depends = record.depends_on()
        begun = Begun(turn=record.turn, at=started, provenance=depends)
        stored = Stored(transcript, left, *state, record.artifacts.get(f"requests-{session.name}"))
        record.bench.journal.write(session_ended(begun, session, stored, finding, record.bench.redactor))
    return finding


def unpaid(stop: Stop) -> Finding:
    """What a cell is whose next session nobody pays."""
    return Finding("stopped", stop.kind, stop.detail)


def _hand_on(grounds: Grounds, session: Session, spec: SessionSpec) -> None:
    if spec.kind == "plan" and session.artifact is not None:
        grounds.hand_on(session.artifact)


def _boundary_broken(record: Measurement, place: Place, boundary: tuple[str, ...]) -> Finding | None:
    """Whether the session changed the skill under test or a path that it may not change."""
    placed = placed_files(record.arm.skills, record.bench.agent.skill_root)
    changed = [path for path, content in placed.items() if place.copy.read(path) != content]
    if changed:
        return Finding(
            "unusable", "skill-changed", f"the session changed its skill: {', '.join(changed[:5])}"
        )
    if boundary == EVERYTHING:
        return None
    outside = outside_boundary([entry.path for entry in record.changed(place.copy)], boundary)
    if not outside:
        return None
    names = ", ".join(path.decode("utf-8", "backslashreplace") for path in outside[:5])
    return Finding(
        "unusable", "boundary-violated", f"{len(outside)} paths outside the session's boundary: {names}"
    )

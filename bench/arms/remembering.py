"""A session that was paid, kept so that its cell can go on after a crash, and taken up again."""

import zlib
from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from bench.arms.journal import SessionEnded
from bench.arms.judge import Finding
from bench.arms.model import Session, Turn
from bench.arms.places import Place
from bench.errors import RunError, WorkspaceError
from bench.measured import Captured, End, ProcessResult, Usage
from bench.redaction import Redactor
from bench.results import Artifact, ObjectStore, Provenance
from bench.spend import SessionUse
from bench.workspace import Entry, Kept, files_below, snapshot, write_files

LARGEST_STATE = 64 * 1024 * 1024
_KEPT_STDERR = 4000
# how a process ends that was stopped by us or never ran: nobody paid for all of such a session
UNFINISHED = (End.CANCELLED, End.SPAWN_FAILED)


class State(Struct, frozen=True, array_like=True):
    """What a session left outside its artifact: the changed paths of its working copy, and its home."""

    copy: tuple[Kept, ...]
    home: tuple[Kept, ...]


def keep_state(store: ObjectStore, place: Place, changed: Sequence[Entry]) -> tuple[Artifact | None, bool]:
    """Store the state that the sessions so far left, if they left anything; and whether it can be made again.
    `changed` is what differs in the working copy.
    """
    copy = snapshot(place.copy, changed, LARGEST_STATE)
    if copy is None:
        return None, False
    home = files_below(place.folder / "home", LARGEST_STATE) or ()
    if not copy and not home:
        return None, True
    return store.put(zlib.compress(msgspec.msgpack.encode(State(copy, home)), 1)), True


def restore_state(store: ObjectStore, kept: Artifact, place: Place) -> None:
    """Bring a new place into a state that was kept. WorkspaceError for one that is damaged or does not fit."""
    try:
        state = msgspec.msgpack.decode(zlib.decompress(store.get(kept.digest)), type=State)
    except (RunError, zlib.error, msgspec.DecodeError) as error:
        raise WorkspaceError(f"the state that a session left cannot be read: {error}") from error
    place.copy.restore(state.copy)
    write_files(place.folder / "home", state.home)


class Begun(Struct, frozen=True, kw_only=True):
    """The attempt that a session belongs to, when it began, and what it depends on."""

    turn: Turn
    at: datetime
    provenance: Provenance


class Stored(Struct, frozen=True):
    """What of a session lies in the store."""

    transcript: Artifact
    artifact: Artifact | None
    state: Artifact | None = None
    restorable: bool = True
    requests: Artifact | None = None


def session_ended(
    begun: Begun, session: Session, stored: Stored, finding: Finding | None, redactor: Redactor
) -> SessionEnded:
    """The journal's entry of a session that ended by itself."""
    result = session.result
    return SessionEnded(
        task=begun.turn.cell.task,
        arm=begun.turn.cell.arm,
        repeat=begun.turn.cell.repeat,
        attempt=begun.turn.attempt,
        again=begun.turn.again,
        name=session.name,
        started_at=begun.at,
        end=result.end,
        code=result.code,
        detail=redactor.text(result.detail),
        seconds=result.seconds,
        peak_memory=result.peak_memory,
        stderr=redactor.text(result.stderr.text())[-_KEPT_STDERR:],
        survivors=session.survivors,
        report=session.report,
        transcript=stored.transcript,
        artifact=stored.artifact,
        finding=finding,
        state=stored.state,
        restorable=stored.restorable,
        provenance=begun.provenance,
        charged=session.charged,
        requests=stored.requests,
    )


def remembered_session(entry: SessionEnded, store: ObjectStore) -> Session:
    """The session that an entry tells of; RunError if its artifact is damaged. Its printed output stays stored."""
    said = entry.stderr.encode()
    return Session(
        name=entry.name,
        result=ProcessResult(
            end=entry.end,
            code=entry.code,
            detail=entry.detail,
            stdout=Captured(b"", b"", entry.transcript.size),
            stderr=Captured(said, b"", len(said)),
            seconds=entry.seconds,
            peak_memory=entry.peak_memory,
        ),
        report=entry.report,
        artifact=store.get(entry.artifact.digest) if entry.artifact else None,
        survivors=entry.survivors,
        charged=entry.charged,
    )


def damaged_session(store: ObjectStore, entries: Sequence[SessionEnded]) -> SessionEnded | None:
    """The first of a cell's sessions of which something is missing in the store, or is not what it was."""
    for entry in entries:
        state = entry.state if entry is entries[-1] else None
        kept = [each.digest for each in (entry.transcript, entry.artifact, state) if each is not None]
        if not all(store.holds(digest) for digest in kept):
            return entry
    return None


def use_of(session: Session | None, seconds: float) -> SessionUse:
    """What there is to count; of a session that broke, or never came to an end, the usage is not the whole."""
    if session is None:
        return SessionUse(usage=Usage(), complete=False, seconds=seconds)
    ended = session.result.end is End.EXITED and session.report.status != "error"
    return SessionUse(usage=session.report.usage, complete=ended, seconds=seconds, charged=session.charged)

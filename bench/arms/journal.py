"""What a sweep writes down as it goes, so that nothing that was paid is ever paid again.

One JSON object a line, each on the disk before the work goes on: a head that names the plan, every session that
ended, before anything is scored, and the rows of cells that wait for their turn in `results.jsonl`.
"""

import threading
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from bench.arms.judge import Finding
from bench.arms.model import Cell
from bench.digest import canonical_json
from bench.errors import RunError
from bench.line_file import LineFile, complete_lines, cut_torn_line
from bench.measured import Charged, End, SessionReport
from bench.results import Artifact, Provenance, Row

SCHEMA_VERSION = 1
_HEAD = 1  # the number of its line

CellKey = tuple[str, str, int]


class JournalHead(Struct, frozen=True, kw_only=True, tag="journal", tag_field="type"):
    """The first line: the plan that the sessions belong to."""

    schema_version: int
    plan: str


class SessionEnded(Struct, frozen=True, kw_only=True, tag="session", tag_field="type"):
    """A session that was paid, with all that its cell needs to go on without it. `again` marks the second
    measurement of a cell that is checked twice; `state` is what it left in its working copy and home, null where
    that is nothing, and `restorable` whether its cell can go on from there. `provenance` is what a row would say.
    """

    task: str
    arm: str
    repeat: int
    attempt: int
    again: bool
    name: str
    started_at: Annotated[datetime, Meta(tz=True)]
    end: End
    code: int | None
    detail: str
    seconds: float
    peak_memory: int | None
    stderr: str
    survivors: int
    report: SessionReport
    transcript: Artifact
    artifact: Artifact | None
    finding: Finding | None
    state: Artifact | None
    restorable: bool
    provenance: Provenance
    charged: Charged | None = None
    requests: Artifact | None = None

    @property
    def cell(self) -> CellKey:
        return (self.task, self.arm, self.repeat)


class CellEnded(Struct, frozen=True, kw_only=True, tag="cell", tag_field="type"):
    """The rows of all attempts of a cell that is measured, but not yet in its place of `results.jsonl`."""

    rows: Annotated[tuple[Row, ...], Meta(min_length=1)]


Entry = JournalHead | SessionEnded | CellEnded


class Remembered(Struct, frozen=True):
    """What an interrupted sweep had written down: the sessions of cells without a row, by cell and `again`, each in
    their order, and the rows of cells by cell.
    """

    sessions: dict[tuple[CellKey, bool], tuple[SessionEnded, ...]] = {}
    rows: dict[CellKey, tuple[Row, ...]] = {}


class Journal:
    """The journal of one plan, written by all workers. `recall` gives back what an earlier process wrote. Where
    sessions cost nothing it need not be `durable`: what a crash of the host takes is measured again.
    """

    def __init__(
        self, path: Path, plan: str, remembered: Remembered | None = None, *, durable: bool = True
    ) -> None:
        self._file = LineFile(path)
        self._durable = durable
        self._plan = plan
        self._sessions = dict(remembered.sessions) if remembered else {}
        self._begun = remembered is not None
        self._lock = threading.Lock()

    def recall(self, cell: Cell, *, again: bool) -> tuple[SessionEnded, ...]:
        """The sessions of a cell that ended before this process began, once: a new attempt pays for its own."""
        with self._lock:
            return self._sessions.pop((cell.key, again), ())

    def remembers(self, cell: Cell) -> bool:
        """Whether sessions of the cell are there to be recalled."""
        with self._lock:
            return any((cell.key, again) in self._sessions for again in (False, True))

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def write(self, entry: SessionEnded | CellEnded) -> None:
        """Write an entry down, and wait until the disk has it where that is asked for; RunError if it cannot be."""
        line = canonical_json(entry)
        with self._lock:
            if not self._begun:
                head = JournalHead(schema_version=SCHEMA_VERSION, plan=self._plan)
                self._file.append(canonical_json(head), durable=self._durable)
                self._begun = True
            self._file.append(line, durable=self._durable)


def open_journal(
    path: Path, plan: str, rows: Iterable[Row], *, durable: bool = True
) -> tuple[Journal, Remembered]:
    """The journal of an interrupted sweep, ready to go on, without what its `rows` say already. A line that a crash
    left unfinished is cut off. RunError names a line that is none, and a journal of another plan or version.
    """
    if not path.exists():
        return Journal(path, plan, durable=durable), Remembered()
    cut_torn_line(path)
    entries = [_read(path, number, line) for number, line in complete_lines(path)]
    if entries:
        _check_head(path, entries[0], plan)
    remembered = _remembered(entries, tuple(rows))
    return Journal(path, plan, remembered if entries else None, durable=durable), remembered


def read_sessions(path: Path) -> tuple[SessionEnded, ...]:
    """The sessions that a journal tells of; none where there is no journal. RunError names a line that is none."""
    if not path.exists():
        return ()
    entries = (_read(path, number, line) for number, line in complete_lines(path))
    return tuple(entry for entry in entries if isinstance(entry, SessionEnded))


def _read(path: Path, number: int, line: bytes) -> Entry:
    try:
        return msgspec.json.decode(line, type=Entry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunError(
            f"{path}, line {number} is no entry of a journal: {error}\n"
            f"  the file was edited or damaged; restore it from a copy, or start a new run"
        ) from error


def _check_head(path: Path, head: Entry, plan: str) -> None:
    if not isinstance(head, JournalHead):
        raise RunError(
            f"{path}, line {_HEAD} does not say which plan it belongs to\n  restore it from a copy"
        )
    if head.schema_version != SCHEMA_VERSION:
        raise RunError(
            f"{path}: schema_version {head.schema_version} of the journal is not supported, only {SCHEMA_VERSION} is\n"
            f"  go on with the version of incumbent that wrote it, or start a new run"
        )
    if head.plan != plan:
        raise RunError(
            f"{path} belongs to plan {head.plan[:12]}, not to {plan[:12]}, which lies beside it\n"
            f"  one of the two files was changed; restore them from a copy, or start a new run"
        )


def _remembered(entries: Iterable[Entry], rows: tuple[Row, ...]) -> Remembered:
    """What the rows do not say yet. A stopped row settles nothing, a failed one only the sessions before it, and an
    earlier sweep's none at all.
    """
    listed = list(entries)
    waiting = _waiting(listed)
    _refuse_two_accounts(rows, waiting)
    known = (*rows, *(row for attempts in waiting.values() for row in attempts))
    settled = {(row.key, row.identity.attempt) for row in known if row.outcome.status != "stopped"}
    own = (row for row in known if row.reuse is None)
    done = {row.key for row in own if row.outcome.status in ("measured", "unusable")}
    sessions: dict[tuple[CellKey, bool], tuple[SessionEnded, ...]] = {}
    for entry in listed:
        if (
            not isinstance(entry, SessionEnded)
            or entry.cell in done
            or (entry.cell, entry.attempt) in settled
        ):
            continue
        key = (entry.cell, entry.again)
        sessions[key] = (*_before(sessions.get(key, ()), entry.name), entry)
    written = {(row.key, row.identity.attempt) for row in rows}
    unwritten = {
        key: tuple(row for row in attempts if (row.key, row.identity.attempt) not in written)
        for key, attempts in waiting.items()
    }
    return Remembered(sessions, {key: left for key, left in unwritten.items() if left})


def _waiting(entries: Iterable[Entry]) -> dict[CellKey, tuple[Row, ...]]:
    """The rows of all attempts of each cell; an earlier process may have written down those before it, too. What is
    there twice in the same words is there once.
    """
    waiting: dict[CellKey, tuple[Row, ...]] = {}
    for entry in entries:
        if isinstance(entry, CellEnded):
            key = entry.rows[-1].key
            before = waiting.get(key, ())
            waiting[key] = (*before, *(row for row in entry.rows if row not in before))
    return waiting


def _refuse_two_accounts(rows: Iterable[Row], waiting: Mapping[CellKey, tuple[Row, ...]]) -> None:
    """RunError for an attempt of which two different rows are there: no process writes two, and none is chosen."""
    known = {(row.key, row.identity.attempt): row for row in rows}
    for row in (each for attempts in waiting.values() for each in attempts):
        attempt = (row.key, row.identity.attempt)
        if known.setdefault(attempt, row) != row:
            raise RunError(
                f"the journal has another row of {'/'.join(map(str, row.key))}, attempt {attempt[1]}, than is there "
                "already\n  one of the two was edited; restore the run folder from a copy, or start a new run"
            )


def _before(sessions: tuple[SessionEnded, ...], name: str) -> tuple[SessionEnded, ...]:
    """Those that a session of this name follows: a cell that was stopped may have gone on as another attempt, and one
    that could not go on began again.
    """
    names = [each.name for each in sessions]
    return sessions[: names.index(name)] if name in names else sessions

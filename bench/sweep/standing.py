"""How far a sweep had come when it was interrupted, read from what it left on the disk."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from bench.arms import CellKey, Journal, SessionEnded, open_journal
from bench.line_file import cut_torn_line
from bench.results import Row, read_rows

SETTLED = ("measured", "unusable")


class Standing(Struct, frozen=True):
    """The attempts of each cell that are in `results.jsonl`, those that only the journal holds, and the latest
    attempt that sessions were paid for.
    """

    written: dict[CellKey, tuple[Row, ...]] = {}
    waiting: dict[CellKey, tuple[Row, ...]] = {}
    paid: dict[CellKey, int] = {}

    @staticmethod
    def of(rows: Iterable[Row]) -> "Standing":
        """What rows alone say."""
        return Standing(_by_cell(rows))

    def attempts(self, key: CellKey) -> tuple[Row, ...]:
        """All attempts of a cell that have a row."""
        return (*self.written.get(key, ()), *self.waiting.get(key, ()))

    def sessions(self) -> int:
        """How many sessions the rows of this sweep were paid with; those taken over from an earlier one are not."""
        every = (row for rows in (*self.written.values(), *self.waiting.values()) for row in rows)
        return sum(len(row.sessions) for row in every if row.reuse is None)

    def divided(self, keys: Collection[CellKey]) -> tuple["Standing", "Standing"]:
        """Without what was measured of these cells, and that alone: earlier rows stand for them as well."""
        again = frozenset(keys)
        rows = [(self.written, True), (self.waiting, True), (self.written, False), (self.waiting, False)]
        old_written, old_waiting, new_written, new_waiting = (
            _of_sweep(cells, again, earlier=earlier) for cells, earlier in rows
        )
        paid = {key: attempt for key, attempt in self.paid.items() if key not in again}
        rest = {key: attempt for key, attempt in self.paid.items() if key in again}
        return Standing(old_written, old_waiting, paid), Standing(new_written, new_waiting, rest)

    def settled(self, key: CellKey) -> bool:
        """Whether the cell is never measured again: one that failed or was stopped is."""
        rows = self.attempts(key)
        return bool(rows) and rows[-1].outcome.status in SETTLED

    def next_attempt(self, key: CellKey) -> int:
        """The number of the attempt that comes next; sessions that were paid belong to theirs."""
        rows = self.attempts(key)
        after = rows[-1].identity.attempt + 1 if rows else 0
        return max(after, self.paid.get(key, 0))


def read_standing(folder: Path, plan: str, *, paying: bool) -> tuple[Standing, Journal]:
    """How far the sweep of `folder` came, and its journal, ready to go on. Lines that a crash left unfinished are
    cut off. RunError names what is damaged, or belongs to another plan. Where nobody is `paying` for sessions, the
    journal does not wait for the disk.
    """
    path = folder / "results.jsonl"
    rows: tuple[Row, ...] = ()
    if path.exists():
        cut_torn_line(path)
        rows, _ = read_rows(path)
    journal, remembered = open_journal(folder / "journal.jsonl", plan, rows, durable=paying)
    paid = _paid(entry for entries in remembered.sessions.values() for entry in entries)
    return Standing(_by_cell(rows), remembered.rows, paid), journal


def _by_cell(rows: Iterable[Row]) -> dict[CellKey, tuple[Row, ...]]:
    cells: dict[CellKey, list[Row]] = defaultdict(list)
    for row in rows:
        cells[row.key].append(row)
    return {key: tuple(sorted(each, key=lambda row: row.identity.attempt)) for key, each in cells.items()}


def _of_sweep(
    cells: Mapping[CellKey, tuple[Row, ...]], again: frozenset[CellKey], *, earlier: bool
) -> dict[CellKey, tuple[Row, ...]]:
    """The rows of cells that are not measured again with those taken over of the others; or what was measured again."""
    kept = {
        key: tuple(row for row in rows if (key not in again or row.reuse is not None) == earlier)
        for key, rows in cells.items()
    }
    return {key: rows for key, rows in kept.items() if rows}


def _paid(entries: Iterable[SessionEnded]) -> dict[CellKey, int]:
    return {entry.cell: entry.attempt for entry in entries}

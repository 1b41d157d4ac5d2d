"""Pauses inside a sweep: what is measured after one depends on what was measured before it.

What is decided at a pause is on the disk before it counts, so that a sweep that goes on after a crash does the same.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.arms import Cell, CellKey
from bench.digest import canonical_json, digest_json
from bench.errors import RunError
from bench.line_file import LineFile, complete_lines, cut_torn_line
from bench.results import Row
from bench.sweep.model import Look, LookRule, Plan, Stopping

LOOKS = "looks.jsonl"


class LookTaken(Struct, frozen=True, kw_only=True):
    """One line of looks.jsonl: what was decided at a look of the plan with this digest."""

    plan: str
    look: Look
    stopping: Stopping


class Looks:
    """The looks of one sweep, those that an earlier process took included."""

    def __init__(self, path: Path, plan: str, rule: LookRule | None) -> None:
        self._file = LineFile(path)
        self._plan, self._rule = plan, rule
        self._taken = {each.look: each.stopping for each in read_looks(path, plan)}

    def take(self, look: Look, rows: Sequence[Row]) -> Stopping:
        """What is decided at this look, on the disk by then. RunError if nobody is there to decide."""
        known = self._taken.get(look)
        if known is not None:
            return known
        if self._rule is None:
            raise RunError(
                "the plan has looks, and nothing to decide at them: go on with it by `evolve resume`"
            )
        stopping = self._rule.at(look, rows)
        self._file.append(canonical_json(LookTaken(plan=self._plan, look=look, stopping=stopping)))
        self._taken[look] = stopping
        return stopping

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def read_looks(path: Path, plan: str) -> tuple[LookTaken, ...]:
    """The looks that were taken. A line that a crash left unfinished is cut off: nothing followed from it. RunError
    names a line that is none, and looks of another plan.
    """
    if not path.exists():
        return ()
    cut_torn_line(path)
    taken = tuple(_read(path, number, line) for number, line in complete_lines(path))
    if any(each.plan != plan for each in taken):
        raise RunError(
            f"{path} belongs to another plan than plan.json\n  restore both from a copy, or start a new run"
        )
    return taken


class Extent(Struct, frozen=True, kw_only=True):
    """What the looks that were taken let a plan come to: the cells that need no row because a look spared them, and
    how many are measured and taken over.
    """

    spared: frozenset[CellKey]
    paid: int
    reused: int


def extent(folder: Path, plan: Plan) -> Extent:
    """The extent of the plan in this folder. RunError if its looks cannot be read."""
    taken = read_looks(folder / LOOKS, digest_json(plan)) if plan.planned_looks else ()
    if not {each.look for each in taken} <= {*plan.planned_looks}:
        raise RunError(f"{folder / LOOKS} has a look that plan.json does not plan\n  restore it from a copy")
    spared = frozenset(
        cell.key for each in taken for cell in plan.cells[each.look.cells :] if cell.arm in each.stopping.arms
    )
    begun = [cell for cell in plan.cells if cell.key not in spared]
    again = _repeated(plan, taken)
    paid = again + sum(plan.source(cell).kind != "reused" for cell in begun)
    return Extent(spared=spared, paid=paid, reused=len(begun) + again - paid - again)


def _repeated(plan: Plan, taken: Sequence[LookTaken]) -> int:
    """How many cells are measured although an earlier row stands for them."""
    last = [each for each in taken if each.look.cells == len(plan.cells)]
    return sum(cell.arm not in last[-1].stopping.arms for cell in plan.concurrent_cells) if last else 0


def parts(plan: Plan) -> Iterator[tuple[Sequence[Cell], Look | None]]:
    """The cells between the looks, each part with the look that comes after it; none comes after the last one."""
    start = 0
    for look in plan.planned_looks:
        yield plan.cells[start : look.cells], look
        start = look.cells
    if start < len(plan.cells):
        yield plan.cells[start:], None


def _read(path: Path, number: int, line: bytes) -> LookTaken:
    try:
        return msgspec.json.decode(line, type=LookTaken)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(
            f"{path}, line {number} is no look: {error}\n  restore it from a copy, or start a new run"
        ) from error

"""A run in progress, seen from another process: its rows as they appear."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.archive import ROWS, RowFacts, row_facts
from bench.project import RunFolder, read_holder
from bench.watch import CellFinished, cell_line
from evolve.runs.files import cells_of, sweep_folders

PAUSE = 1.0  # seconds between two looks


class Tail:
    """Gives every complete row of a run once, in the order in which they appear."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._read: dict[Path, int] = {}
        self._done: dict[Path, set[tuple[str, str, int]]] = {}

    def new_lines(self) -> Iterator[str]:
        """One line for each row that was added since the last call."""
        for path in (each / ROWS for _, each in sweep_folders(self._run.path)):
            for facts in self._new_rows(path):
                done = self._done.setdefault(path.parent, set())
                done.add(facts.identity.key)
                yield self._line(path.parent, facts, len(done))

    def _new_rows(self, path: Path) -> Iterator[RowFacts]:
        if not path.exists():
            return
        with path.open("rb") as file:
            file.seek(self._read.get(path, 0))
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._read[path] = self._read.get(path, 0) + len(line)
                yield row_facts(line, str(path))

    def _line(self, folder: Path, facts: RowFacts, done: int) -> str:
        cells = cells_of(folder) or done
        where = "" if folder == self._run.path else f"{folder.name} "
        return f"{where}[{done}/{cells}] {facts_line(facts)}"


def follow(run: RunFolder, say: Callable[[str], None], pause: Callable[[float], None] = time.sleep) -> None:
    """Say a line for each row that there is and that still comes, until nobody works on the run."""
    tail = Tail(run)
    held = True
    while held:
        held = read_holder(run)[1]  # before the rows: what was written last is still read
        for line in tail.new_lines():
            say(line)
        if held:
            pause(PAUSE)


def facts_line(facts: RowFacts) -> str:
    """A row in the line that the run itself printed of it."""
    cell = facts.identity
    event = CellFinished(
        cell=f"{cell.task}/{cell.arm}/{cell.repeat}",
        task=cell.task,
        arm=cell.arm,
        status=facts.outcome.status,
        kind=facts.outcome.kind,
        resolved=facts.outcome.resolved,
        weighted_f1=facts.score.weighted_f1 if facts.score else None,
        cost_usd=facts.usage.cost_usd,
        seconds=facts.timings.total,
        detail=facts.outcome.detail,
        done=0,
        cells=0,
    )
    return cell_line(event)

"""What the harness costs for each of many do-nothing cells, beside starting the same programs without it."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from measuring import Cpu, Line, cpu_of, median_cpu, milliseconds, resident
from projects import ORACLE, Prepared, Project, Quiet, make_project, one_file, scratch

from bench.digest import canonical_json
from bench.results import Row
from bench.watch import CellFinished, Event

FEW, MANY = 200, 1000
ROUNDS = 3
BARE = 200  # starts of a sample of the baseline

MOST_TIMES_BARE = 5.0
MOST_RISE = 1.15
MOST_GROWTH = 1.10


class Meter(Quiet):
    """Notes this process's memory after some numbers of cells."""

    def __init__(self, *when: int) -> None:
        self._when = when
        self.resident: list[int] = []

    def see(self, event: Event) -> None:
        if isinstance(event, CellFinished) and event.done in self._when:
            self.resident.append(resident())


class Bare:
    """The same programs, started without the harness: `subprocess.run`, and for each a row appended and synced."""

    def __init__(self, project: Project, row: Row) -> None:
        self._agent = [str(project.agent)]
        self._line = canonical_json(row) + b"\n"
        self._rows = os.open(project.root / "bare.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def once(self) -> None:
        subprocess.run(self._agent, input=b"", capture_output=True, check=True)
        os.write(self._rows, self._line)
        os.fsync(self._rows)

    def cost(self) -> Cpu:
        """Of one start and one row."""
        return cpu_of(lambda: repeat(self.once), BARE)


def repeat(action: Callable[[], object]) -> None:
    for _ in range(BARE):
        action()


def oracle_alone() -> Cpu:
    """What the hidden test's own shell uses."""
    command = ["/bin/sh", "-c", ORACLE]
    return cpu_of(lambda: repeat(lambda: subprocess.run(command, input=b"x\n", capture_output=True, check=True)), BARE)


def on_the_host() -> Iterator[Line]:
    """Cells in the sandbox `host`."""
    with tempfile.TemporaryDirectory(prefix="perf-") as folder, scratch() as memory:
        project = make_project(Path(folder), one_file(Path(folder)))
        common = ("sandbox=host", "workers=1", f"sandbox.scratch={memory}")
        with project.ground(*common, f"repeats={FEW}") as few, project.ground(*common, f"repeats={MANY}") as many:
            (row, *_) = few.sweep(Quiet())
            yield from _compared(project, few, many, row)


def _compared(project: Project, few: Prepared, many: Prepared, row: Row) -> Iterator[Line]:
    bare, test, of_few, of_many = Bare(project, row), [], [], []
    alone = [bare.cost()]
    meter = Meter(FEW, MANY)
    for number in range(ROUNDS):
        of_few.append(cpu_of(lambda: few.sweep(Quiet()), FEW))
        alone.append(bare.cost())
        test.append(oracle_alone())
        if number < ROUNDS - 1:
            of_many.append(cpu_of(lambda: many.sweep(meter if number == 0 else Quiet()), MANY))
            alone.append(bare.cost())
    cell, start, oracle, long = (median_cpu(each) for each in (of_few, alone, test, of_many))
    own = cell.total - start.children - oracle.children
    yield Line(
        what=f"{FEW} cells, host: own CPU and helpers, a cell",
        measured=milliseconds(own),
        baseline=f"{milliseconds(start.total)} bare start and synced row",
        value=own / start.total,
        bar=MOST_TIMES_BARE,
    )
    yield Line(
        what="  the same with agent and hidden test",
        measured=milliseconds(cell.total),
        baseline=milliseconds(start.total),
        value=cell.total / start.total,
    )
    yield Line(
        what="  this process alone",
        measured=milliseconds(cell.own),
        baseline=milliseconds(start.own),
        value=cell.own / start.own,
    )
    yield Line(
        what=f"  a cell of {MANY} beside one of {FEW}",
        measured=milliseconds(long.total),
        baseline=milliseconds(cell.total),
        value=long.total / cell.total,
        bar=MOST_RISE,
    )
    before, after = meter.resident
    yield Line(
        what=f"  memory after {MANY} cells beside {FEW}",
        measured=f"{after / 1e6:.1f} MB",
        baseline=f"{before / 1e6:.1f} MB",
        value=after / before,
        bar=MOST_GROWTH,
    )

"""What the harness costs for each of many do-nothing cells, beside starting the same programs without it."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from bare_bubblewrap import BareBubblewrap
from measuring import Cpu, Line, cpu_of, least_cpu, milliseconds, resident
from projects import ORACLE, Prepared, Project, Quiet, make_project, one_file, scratch

from bench.digest import canonical_json
from bench.results import Row
from bench.watch import CellFinished, Event

FEW, MANY, CONFINED = 200, 1000, 60  # cells of a sweep
ROUNDS = 6
LONG_ROUNDS = 3  # of the many cells, which take a minute otherwise

MOST_TIMES_BARE = 5.0
MOST_RISE = 1.15
MOST_GROWTH = 1.10
MOST_ABOVE = 8.0  # milliseconds


def on_the_host() -> Iterator[Line]:
    """Cells in the sandbox `host`, 200 and 1,000 at a time."""
    with tempfile.TemporaryDirectory(prefix="perf-") as folder, scratch() as memory:
        project = make_project(Path(folder), one_file(Path(folder)))
        common = ("sandbox=host", "workers=1", f"sandbox.scratch={memory}")
        with (
            project.ground(*common, f"repeats={FEW}") as few,
            project.ground(*common, f"repeats={MANY}") as many,
        ):
            yield from _lines(_Host(project, few, many))


def in_bubblewrap() -> Iterator[Line]:
    """Cells in the sandbox `bubblewrap`, beside bubblewrap alone."""
    with tempfile.TemporaryDirectory(prefix="perf-") as folder, scratch() as memory:
        project = make_project(Path(folder), one_file(Path(folder)))
        common = ("sandbox=bubblewrap", "workers=1", f"sandbox.scratch={memory}")
        with project.ground(*common, f"repeats={CONFINED}") as prepared, scratch() as alone:
            template = prepared.ground.templates.build(prepared.ground.tasks[0])
            bare = BareBubblewrap(project, template, alone)
            prepared.sweep(Quiet())
            cells, starts = [], []
            for _ in range(ROUNDS):
                starts.append(_cost(bare.once, CONFINED))
                cells.append(cpu_of(partial(prepared.sweep, Quiet()), CONFINED))
    cell, start = least_cpu(cells), least_cpu(starts)
    above = (cell.total - start.total) * 1000
    yield Line(
        what=f"{CONFINED} cells, bubblewrap: CPU above bare starts",
        measured=milliseconds(cell.total),
        baseline=f"{milliseconds(start.total)} agent and test in bare bubblewrap",
        value=above,
        bar=MOST_ABOVE,
        unit="ms",
    )


class _Meter(Quiet):
    """Notes this process's memory after some numbers of cells."""

    def __init__(self, *when: int) -> None:
        self._when = when
        self.resident: list[int] = []

    def see(self, event: Event) -> None:
        if isinstance(event, CellFinished) and event.done in self._when:
            self.resident.append(resident())


class _Bare:
    """The same agent, started without the harness: `subprocess.run`, then a row appended and synced."""

    def __init__(self, project: Project, row: Row) -> None:
        self._agent = [str(project.agent)]
        self._line = canonical_json(row) + b"\n"
        self._rows = os.open(project.root / "bare.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def once(self) -> None:
        subprocess.run(self._agent, input=b"", capture_output=True, check=True)
        os.write(self._rows, self._line)
        os.fsync(self._rows)

    def close(self) -> None:
        os.close(self._rows)


class _Host:
    """All samples, each kind between the others: what one round meets, the others meet as well."""

    def __init__(self, project: Project, few: Prepared, many: Prepared) -> None:
        self.few: list[Cpu] = []
        self.many: list[Cpu] = []
        self.bare: list[Cpu] = []
        self.test: list[Cpu] = []
        meter = _Meter(FEW, MANY)
        (row, *_) = few.sweep(Quiet())
        with closing(_Bare(project, row)) as bare:
            for number in range(ROUNDS):
                self.bare.append(_cost(bare.once, FEW))
                self.few.append(cpu_of(partial(few.sweep, Quiet()), FEW))
                self.bare.append(_cost(bare.once, FEW))
                self.test.append(_cost(_test_alone, FEW))
                if number < LONG_ROUNDS:
                    self.many.append(cpu_of(partial(many.sweep, Quiet() if number else meter), MANY))
        self.resident = meter.resident


def _cost(action: Callable[[], object], count: int) -> Cpu:
    """Of an action, done `count` times."""

    def repeated() -> None:
        for _ in range(count):
            action()

    return cpu_of(repeated, count)


def _test_alone() -> None:
    subprocess.run(["/bin/sh", "-c", ORACLE], input=b"x\n", capture_output=True, check=True)


def _lines(host: _Host) -> Iterator[Line]:
    cell, start, test, long = (least_cpu(each) for each in (host.few, host.bare, host.test, host.many))
    own = cell.total - start.children - test.children
    yield Line(
        what=f"{FEW} cells, host: own CPU and helpers, a cell",
        measured=milliseconds(own),
        baseline=f"{milliseconds(start.total)} bare start, synced row",
        value=own / start.total,
        bar=MOST_TIMES_BARE,
    )
    yield Line(
        what="  with the agent and the hidden test",
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
    before, after = host.resident
    yield Line(
        what=f"  memory after {MANY} cells beside {FEW}",
        measured=f"{after / 1e6:.1f} MB",
        baseline=f"{before / 1e6:.1f} MB",
        value=after / before,
        bar=MOST_GROWTH,
    )

"""Running a plan: every cell measured, every row durable before anything is computed from it."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct, structs

from bench.arms import (
    STOP_CAUSES,
    Cell,
    CellEnded,
    Turn,
    Workbench,
    derived_assets,
    identity,
    measure,
    same_measurement,
)
from bench.cancellation import Cancellation
from bench.errors import MeasurementError
from bench.results import Row, RowFile, StopCause
from bench.reuse import Kind, adopt
from bench.spend import Account
from bench.suite import Derived, Task
from bench.sweep.breaker import Breaker
from bench.sweep.looks import Looks, parts
from bench.sweep.model import Plan, Sealed
from bench.sweep.pool import run_ordered
from bench.sweep.standing import Standing
from bench.text import printable
from bench.watch import CellFinished, CellStarted, Noted, SweepFinished, SweepStarted, Watcher

# Cells begun beyond the fold point, per worker. Fewer let one long cell hold up the others; more are wasted in an
# outage (tests/perf/table.py shows both on published durations).
AHEAD = 5
UNPAID = ("budget-exhausted", "deadline")
BEGINNING = Standing()


class SweepResult(Struct, frozen=True):
    """The rows of every attempt of the cells that began, in the order of the plan (the last attempt of a cell
    counts), why the sweep ended early, if it did, in a word and, of a budget, in a sentence, what the run has spent
    by then, and what its canaries showed, if that is drift.
    """

    rows: tuple[Row, ...]
    stopped: StopCause | None
    because: str | None = None
    account: Account | None = None
    drift: str | None = None


def run_sweep(
    bench: Workbench,
    sealed: Sealed,
    files: tuple[RowFile, Looks],
    watcher: Watcher,
    cancellation: Cancellation,
    standing: Standing = BEGINNING,
) -> SweepResult:
    """Measure the plan's cells, or take the earlier row that stands for one; those that are settled stay. At each
    look everything before it is settled, and nothing behind it has begun. A cancellation keeps every row and leaves
    nothing running.
    """
    plan, (file, looks) = sealed.plan, files
    first, again = _stages(plan, standing)
    running = _Running(bench, sealed, file, watcher, cancellation, first)
    repeated = _Running(bench, sealed, file, watcher, cancellation, again)
    watcher.see(
        SweepStarted(
            generation=plan.generation,
            cells=len(plan.cells),
            reused=len(plan.cells) - len(plan.paid),
            tasks=len(plan.tasks),
            arms=plan.arms,
            plan=bench.plan,
        )
    )
    with _prefetch(bench, running.left(), cancellation):
        for cells, look in parts(plan):
            running.measure(cells)
            if look is None or _stop_cause(bench, cancellation) is not None:
                break
            stopping = looks.take(look, running.rows)
            watcher.see(Noted(message=printable(stopping.because)))
            running.stopped |= {*stopping.arms}
            if running.stopped.issuperset(plan.arms):
                break
        else:
            repeated.measure(cell for cell in again.cells if cell.arm not in running.stopped)
    closed = bench.purse.closed
    because = None if closed is None else closed.detail
    rows = (*running.rows, *repeated.rows)
    result = SweepResult(rows, _stop_cause(bench, cancellation), because)
    watcher.see(
        SweepFinished(
            generation=plan.generation,
            rows=len({row.key for row in result.rows}),
            cells=len(plan.cells),
            stopped=result.stopped,
            because=None if because is None else printable(because),
        )
    )
    return result


def _stop_cause(bench: Workbench, cancellation: Cancellation) -> StopCause | None:
    """A purse that closed did so before any cancellation. A cause that is not the harness's own is somebody's wish:
    a signal.
    """
    if bench.purse.closed is not None:
        return bench.purse.closed.kind
    return None if cancellation.cause is None else STOP_CAUSES.get(cancellation.cause, "cancelled")


class _Stage(Struct, frozen=True):
    """Cells in their order, and how far an earlier process came with them; measured `again` if rows of an earlier
    sweep stand for them, which are their first attempts.
    """

    cells: tuple[Cell, ...]
    standing: Standing
    again: bool = False


def _stages(plan: Plan, standing: Standing) -> tuple[_Stage, _Stage]:
    """All cells of the plan, and those that may be measured although an earlier row stands for them."""
    concurrent = plan.concurrent_cells
    first, again = standing.divided({cell.key for cell in concurrent})
    return _Stage(plan.cells, first), _Stage(concurrent, again, again=True)


class _Running:
    """What changes while a sweep runs: the rows so far, the breaker's count, how many cells are at work, which arms
    were stopped at a look.
    """

    def __init__(
        self,
        bench: Workbench,
        sealed: Sealed,
        file: RowFile,
        watcher: Watcher,
        cancellation: Cancellation,
        stage: _Stage,
    ) -> None:
        self._bench, self._plan, self._file = bench, sealed.plan, file
        self._prior = sealed.rows
        self._watcher, self._cancellation = watcher, cancellation
        self._stage, self._standing = stage, stage.standing
        self._places = {cell.index: place for place, cell in enumerate(stage.cells)}
        self._breaker = Breaker(bench.config.breaker)
        self._lock = threading.Lock()
        self._at_work = 0
        self._done = 0
        self.rows: list[Row] = []
        self.stopped: set[str] = set()

    def left(self) -> list[Cell]:
        """The cells that are still to be measured."""
        return [cell for cell in self._plan.paid if not self._standing.settled(cell.key)]

    def measure(self, cells: Iterable[Cell]) -> None:
        """Work on these cells, the next ones of the stage, until all are folded."""
        run_ordered(
            tuple(cells),
            self.work,
            self.fold,
            workers=self._bench.config.workers,
            window=AHEAD * self._bench.config.workers,
            cancellation=self._cancellation,
        )

    def work(self, cell: Cell) -> list[Row]:
        """All attempts of a cell; the last one counts. An earlier row that stands for it is its only one. Those of a
        cell that has to wait for its place in the file of rows are in the journal before this returns. A cell that
        the budget did not let begin has none.
        """
        before = list(self._standing.attempts(cell.key))
        if self._standing.settled(cell.key) or cell.arm in self.stopped:
            return before
        source = self._plan.source(cell)
        if source.kind == "reused" and not self._stage.again:
            self._watcher.see(CellStarted(cell=printable(cell.name)))
            return [adopt(self._prior[str(source.row)], identity(self._bench, cell, 0))]
        if self._bench.purse.closed is not None and not self._bench.journal.remembers(cell):
            return before
        with self._lock:
            neighbours = self._at_work
            self._at_work += 1
        self._watcher.see(CellStarted(cell=printable(cell.name)))
        try:
            attempts = self._attempts(cell, neighbours)
        finally:
            with self._lock:
                self._at_work -= 1
        if attempts and self._done < self._places[cell.index]:
            self._bench.journal.write(CellEnded(rows=tuple(attempts)))
        return [*before, *attempts]

    def fold(self, cell: Cell, attempts: list[Row]) -> None:
        """Make the rows durable, in the plan's order, then look at the breaker."""
        for row in attempts[len(self._standing.written.get(cell.key, ())) :]:
            self._file.append(row)
        self.rows += attempts
        self._done += 1
        settled = self._standing.settled(cell.key)
        if not settled and len(attempts) == len(self._standing.attempts(cell.key)):
            return
        if not settled:
            kind = "fresh" if self._stage.again else self._plan.source(cell).kind
            self._watcher.see(_finished(cell, attempts[-1], kind, (self._done, len(self._stage.cells))))
        if self._breaker.take(attempts[-1]):
            self._cancellation.cancel("breaker")

    def _attempts(self, cell: Cell, neighbours: int) -> list[Row]:
        """A broken attempt is made again; one that was measured never is, even where two of it disagree."""
        rows: list[Row] = []
        lowest = int(self._stage.again)
        first = max(lowest, self._standing.next_attempt(cell.key))
        for attempt in range(first, max(first, lowest + self._bench.config.retries) + 1):
            turn = Turn(cell=cell, attempt=attempt, neighbours=neighbours)
            row = measure(self._bench, turn, self._cancellation)
            if _unpaid(row):
                break
            rows.append(self._checked_twice(turn, row))
            if self._bench.live.changed is not None:
                self._cancellation.cancel("breaker")  # no later cell would measure what the plan says
            if rows[-1].outcome.status != "failed" or self._cancellation.cancelled:
                break
        return rows

    def _checked_twice(self, turn: Turn, row: Row) -> Row:
        """The row, or, of a cell that is checked twice, what a second measurement makes of it."""
        if not turn.cell.twice or row.outcome.status != "measured":
            return row
        again = measure(self._bench, structs.replace(turn, again=True), self._cancellation)
        if again.outcome.status != "measured":
            return again
        differing = same_measurement(row, again)
        return row if differing is None else _nondeterministic(row, differing)


def _unpaid(row: Row) -> bool:
    """Whether an attempt ended before its first session, because nobody pays it: it never began."""
    return row.outcome.status == "stopped" and row.outcome.kind in UNPAID and not row.sessions


def _nondeterministic(row: Row, differing: str) -> Row:
    """The row of a cell that a supposedly deterministic agent answered in two ways. It is settled: rolled again until
    two answers agree, it would say the opposite.
    """
    detail = (
        f"the agent declares itself deterministic, but two runs of this cell differ in {differing}\n"
        f"its answers cannot be measured once per cell; set its option deterministic=false"
    )
    refuted = structs.replace(
        row.outcome, status="unusable", kind="answers-differ", detail=detail, resolved=False
    )
    return structs.replace(row, outcome=refuted, score=None)


def _finished(cell: Cell, row: Row, source: Kind, progress: tuple[int, int]) -> CellFinished:
    return CellFinished(
        cell=printable(cell.name),
        task=printable(cell.task),
        arm=cell.arm,
        source=source,
        status=row.outcome.status,
        kind=row.outcome.kind,
        resolved=row.outcome.resolved,
        weighted_f1=row.score.weighted_f1 if row.score else None,
        cost_usd=row.usage.cost_usd,
        seconds=row.timings.total,
        detail=printable(row.outcome.detail),
        done=progress[0],
        cells=progress[1],
    )


@contextmanager
def _prefetch(bench: Workbench, left: Sequence[Cell], cancellation: Cancellation) -> Iterator[None]:
    """Build the templates of later tasks, and the assets that arms are shown of them, while earlier cells run; a
    failure waits for the cell that needs it.
    """
    over = threading.Event()

    def needless() -> bool:
        return over.is_set() or cancellation.cancelled or bench.purse.closed is not None

    def build() -> None:
        for task in dict.fromkeys(cell.task for cell in left):
            if needless():
                return
            try:
                bench.templates.build(bench.tasks[task])
                for asset in _shown_assets(bench, left, bench.tasks[task]):
                    if needless():
                        return
                    bench.templates.derive(bench.tasks[task], asset)
            except MeasurementError:
                continue  # remembered by the templates, and the row of the cell that asks for it

    thread = threading.Thread(target=build, name="templates")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _shown_assets(bench: Workbench, left: Sequence[Cell], task: Task) -> Iterator[Derived]:
    """The derived assets that planned cells of the task are shown."""
    for name in dict.fromkeys(cell.arm for cell in left if cell.task == task.id):
        yield from derived_assets(bench.arms[name], task)

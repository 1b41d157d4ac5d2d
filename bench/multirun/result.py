"""What a multirun came to, as data: its points, and a dot for each (agent, model, effort) and role."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from bench.multirun.expansion import expand
from bench.multirun.folder import PointJournal, PointState
from bench.multirun.front import Dot
from bench.multirun.measuring import PointRows, make_dots
from bench.multirun.model import MULTIRUN_VERSION, MultirunPlan
from bench.project import RUNS
from bench.results import Row, read_rows
from bench.spend import JOURNAL, PICODOLLARS, read_ledger


class SweepPoint(Struct, frozen=True, kw_only=True):
    """One point: its run, `paid` rows that it measured and `reused` ones that it took over, dollars that it spent,
    and what it decided (null for `bench`, or before). `code` is null for one that is not over; `same_as` names the
    earlier point that it is.
    """

    number: int
    label: str
    run: str | None
    code: int | None
    error: str | None
    same_as: int | None
    paid: int = 0
    reused: int = 0
    usd: float = 0.0
    decision: str | None = None


class BenchSweep(Struct, frozen=True, kw_only=True):
    """`sweep.json` of `bench -m` (schemas/bench-sweep.schema.json). `most` is how many points there are before any is
    excluded or found to be another one; `points` are those that something became of.
    """

    schema_version: int
    sweep: str
    folder: str
    command: str
    most: int
    points: tuple[SweepPoint, ...]
    dots: tuple[Dot, ...]
    report: str
    picture: str
    at_most: float | None
    usd: float
    code: int


class Reached(Struct, frozen=True, kw_only=True):
    """A point with the folder of its run, where it has one, and the rows of its first generation."""

    point: SweepPoint
    folder: Path | None
    rows: tuple[Row, ...]


def reached(plan: MultirunPlan, journal: PointJournal, root: Path) -> Iterator[Reached]:
    """What became of each point so far, in order."""
    for point in expand(plan.swept):
        state = journal.states.get(point.number)
        if state is not None:
            yield _reached(point.number, point.label, state, root / RUNS)


def dots_of(found: tuple[Reached, ...], seed: int) -> tuple[Dot, ...]:
    """The dots of all points that have rows."""
    return make_dots(
        (PointRows(point=each.point.number, rows=each.rows) for each in found if each.rows), seed
    )


def rows_of(run: Path) -> tuple[Row, ...]:
    """The rows of a run of bench, or of the first generation of one of evolve: the one that all points have."""
    for path in (run / "gen-1" / "results.jsonl", run / "results.jsonl"):
        if path.exists():
            return read_rows(path)[0]
    return ()


def _reached(number: int, label: str, state: PointState, runs: Path) -> Reached:
    folder = None if state.run is None or not (runs / state.run).is_dir() else runs / state.run
    rows = () if folder is None else rows_of(folder)
    spent = 0 if folder is None else read_ledger(folder / JOURNAL).settled.picodollars
    point = SweepPoint(
        number=number,
        label=label,
        run=state.run,
        code=state.code,
        error=state.error,
        same_as=state.same_as,
        paid=sum(row.reuse is None for row in rows),
        reused=sum(row.reuse is not None for row in rows),
        usd=round(spent / PICODOLLARS, 6),
    )
    return Reached(point=point, folder=folder, rows=rows)


def bench_sweep(
    plan: MultirunPlan, found: tuple[Reached, ...], folder: Path, files: tuple[Path, Path], code: int
) -> BenchSweep:
    """The result as data; `files` are the report and the picture."""
    return BenchSweep(
        schema_version=MULTIRUN_VERSION,
        sweep=folder.name,
        folder=str(folder),
        command=plan.command,
        most=plan.most,
        points=tuple(each.point for each in found),
        dots=dots_of(found, plan.seed),
        report=str(files[0]),
        picture=str(files[1]),
        at_most=plan.at_most,
        usd=round(sum(each.point.usd for each in found), 6),
        code=code,
    )

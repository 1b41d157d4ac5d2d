"""What `evolve runs` knows of a run, and prints with --json."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from bench.project import Holder
from evolve.gate import Decision

State = Literal["running", "finished", "interrupted", "refused"]


class GenerationState(Struct, frozen=True, kw_only=True):
    """How far one sweep is; generation 0 is that of `bench`.

    `cells` is null before the plan is sealed. `settled` cells have a row that a resumed run would keep; `statuses`
    counts the latest rows, of which `reused` were measured by an earlier run. `cost_usd` is what the other rows say,
    null if one does not know it.
    """

    generation: int
    folder: str
    cells: int | None
    settled: int
    statuses: Mapping[str, int]
    reused: int
    cost_usd: float | None
    idea: str | None = None
    decision: Decision | None = None
    code: int | None = None

    @property
    def left(self) -> int:
        """How many cells a resumed run would measure."""
        return max(0, (self.cells or 0) - self.settled)


class SpendState(Struct, frozen=True, kw_only=True):
    """What spend.jsonl says: sessions that ended, the cells of all that began, dollars that sessions used (null if one does not know), and what `open` ones, whose end is
    not written, may use or have used. A run that is not at work lost these, and counts them at that.
    """

    sessions: int
    cells: int
    spent_usd: float | None
    open: int
    reserved_usd: float


class RunState(Struct, frozen=True, kw_only=True):
    """One run. `why` explains its state; `holder` is who works on it or did last, null if nobody wrote that down.

    A run that is `refused` is one that this version cannot read. `unapplied` says that it promoted what no `apply`
    took over, `promotion` what was last done with what it promoted; `last` are the newest rows, in a line each. `beyond_budget` says that what is left to measure does not fit under the run's own limits of cells and sessions. `size` are the bytes of its folder, `objects_size` those of the artifacts that its rows name.
    """

    run: str
    folder: str
    state: State
    why: str
    started_at: Annotated[datetime, Meta(tz=True)] | None
    command: Literal["evolve", "bench"] | None
    overrides: tuple[str, ...]
    suite: str | None
    agent: str | None
    model: str | None
    generations: tuple[GenerationState, ...]
    last: tuple[str, ...]
    unapplied: bool
    size: int
    objects_size: int
    spend: SpendState | None
    holder: Holder | None
    promotion: Literal["applied", "reverted"] | None = None
    beyond_budget: bool = False


class RunList(Struct, frozen=True, kw_only=True):
    """`evolve runs list`: oldest first."""

    project: str
    runs: tuple[RunState, ...]


class PrunedRun(Struct, frozen=True, kw_only=True):
    """One run that `evolve runs prune` looked at."""

    run: str
    removed: bool
    why: str
    size: int


class PruneReport(Struct, frozen=True, kw_only=True):
    """`evolve runs prune`: all runs, what became of each, and why. With `dry_run`, what would."""

    dry_run: bool
    runs: tuple[PrunedRun, ...]

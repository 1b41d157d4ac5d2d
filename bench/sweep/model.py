"""A plan as data: every cell in its order, decided before the first one runs."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from msgspec import UNSET, Struct, UnsetType, structs

from bench.arms.model import Cell
from bench.harness import Harness
from bench.results import Row
from bench.reuse import DriftState, Source


class Declared(Struct, frozen=True, kw_only=True):
    """What only the run itself knows of what it measures with: the names of suite and agent (name/version), the
    model as verdicts name it, whether the agent is deterministic and the sandbox contains it, the critical tasks.
    """

    suite: str
    agent: str
    model: str | None
    deterministic: bool
    contained: bool
    critical: tuple[str, ...]


class Proposed(Struct, frozen=True, kw_only=True):
    """What is tried, by names and digests that mean nothing to `bench`: the idea, each skill without and with it,
    and `champion`, all the overlays that the skills with it hold beyond the project's own, as one stack.
    """

    idea: str
    idea_digest: str
    base_skills: dict[str, str]
    result_skills: dict[str, str]
    champion: str


class Look(Struct, frozen=True, kw_only=True):
    """A pause after the first `cells` cells of a plan, which are its first `repeats` repeats. The cells behind it are
    measured on one condition: that it does not stop their arm. Behind one after all cells are the concurrent ones.
    """

    repeats: int
    cells: int


class Stopping(Struct, frozen=True, kw_only=True):
    """What is decided at a look: the arms of which nothing more is measured, and why, in a sentence."""

    arms: tuple[str, ...]
    because: str


class LookRule(Protocol):
    """Who decides at the looks of a plan. Pure: the same rows give the same answer."""

    def at(self, look: Look, rows: Sequence[Row]) -> Stopping:
        """Which arms stop, by the rows of all attempts so far."""
        ...


class Plan(Struct, frozen=True, kw_only=True):
    """The cells in order, and what they depend on. `left_out` gives a reason for each arm or task not measured;
    `proposed` is null where nothing is tried. `sources` says, cell by cell, which row of the generation `reuse_from`
    stands for it, and why none where none does; without any, every cell is measured. `foundation` holds a digest of
    each thing that the cells depend on, `harness` the versions behind one of them; null in older plans. `looks` are the
    pauses on which the cells behind them depend, in their order; absent where every cell is measured. `concurrent`
    are the indices of cells for which an earlier row stands, and which are measured all the same behind the last look.

    Every row carries the plan's digest, so that nothing in it can be changed once a cell was measured.
    """

    schema_version: int
    generation: int
    suite: str
    overlay: str | None
    configuration: str
    seed: int
    declared: Declared
    proposed: Proposed | None
    arms: tuple[str, ...]
    tasks: tuple[str, ...]
    cells: tuple[Cell, ...]
    left_out: dict[str, str]
    reuse_from: str | None = None
    sources: tuple[Source, ...] = ()
    foundation: dict[str, str] = {}
    harness: Harness | None = None
    looks: tuple[Look, ...] | UnsetType = UNSET
    concurrent: tuple[int, ...] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.sources and len(self.sources) != len(self.cells):
            raise ValueError(
                f"it says of {len(self.sources)} cells where their rows come from, and has {len(self.cells)}"
            )

    def source(self, cell: Cell) -> Source:
        """Where the row of a cell of this plan comes from."""
        return self.sources[cell.index] if self.sources else Source(kind="fresh", reason="reuse-off")

    @property
    def planned_looks(self) -> tuple[Look, ...]:
        """The pauses of its sweep."""
        return () if self.looks is UNSET else self.looks

    @property
    def concurrent_cells(self) -> tuple[Cell, ...]:
        """The cells that may be measured although an earlier row stands for them."""
        return () if self.concurrent is UNSET else tuple(self.cells[index] for index in self.concurrent)

    @property
    def paid(self) -> tuple[Cell, ...]:
        """The cells that are measured: no earlier row stands for them."""
        return tuple(cell for cell in self.cells if self.source(cell).kind != "reused")

    def counts(self) -> Counter[str]:
        """How many cells there are of each kind of source, and, as `misses`, why the others are fresh."""
        return Counter(self.source(cell).kind for cell in self.cells)

    def misses(self) -> Counter[str]:
        """How many cells are fresh for each reason; for a field that differs or is unknown, with its name."""
        fresh = (self.source(cell) for cell in self.cells)
        return Counter(
            f"{source.reason}: {source.field}" if source.field else str(source.reason)
            for source in fresh
            if source.kind == "fresh"
        )


class Sealed(Struct, frozen=True, kw_only=True):
    """A plan with the earlier rows that its sources name, by digest, and what is known of drift before its sweep.
    `notes` are what a person should know of the choice, `rule` decides at the looks of the plan.
    """

    plan: Plan
    rows: Mapping[str, Row] = {}
    drift: DriftState | None = None
    notes: tuple[str, ...] = ()
    rule: LookRule | None = None


def with_concurrent(sealed: Sealed, arms: Collection[str]) -> Sealed:
    """The sealed plan, with the cells of these arms for which an earlier row stands to be measured all the same
    behind a last look: beside those of this sweep, if that lets them.
    """
    plan = sealed.plan
    again = tuple(
        cell.index for cell in plan.cells if cell.arm in arms and plan.source(cell).kind == "reused"
    )
    if not again:
        return sealed
    last = Look(repeats=1 + max(cell.repeat for cell in plan.cells), cells=len(plan.cells))
    looked = structs.replace(plan, looks=(*plan.planned_looks, last), concurrent=again)
    return structs.replace(sealed, plan=looked)

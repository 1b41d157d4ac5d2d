"""A plan as data: every cell in its order, decided before the first one runs."""

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from bench.arms import Cell
from bench.results import Row
from bench.reuse import DriftState, Source

PLAN_VERSION = 2  # 2: where the row of each cell comes from; a plan of version 1 measures every cell


class Plan(Struct, frozen=True, kw_only=True):
    """The cells in order, and what they depend on. `left_out` gives a reason for each arm or task not measured.

    `sources` says, cell by cell, which row of the generation `reuse_from` stands for it, and why none where none
    does; without any, every cell is measured.
    """

    schema_version: int
    generation: int
    suite: str
    overlay: str | None
    configuration: str
    seed: int
    arms: tuple[str, ...]
    tasks: tuple[str, ...]
    cells: tuple[Cell, ...]
    left_out: dict[str, str]
    reuse_from: str | None = None
    sources: tuple[Source, ...] = ()

    def source(self, cell: Cell) -> Source:
        """Where the row of a cell of this plan comes from."""
        return self.sources[cell.index] if self.sources else Source(kind="fresh", reason="reuse-off")

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
    `notes` are what a person should know of the choice.
    """

    plan: Plan
    rows: Mapping[str, Row] = {}
    drift: DriftState | None = None
    notes: tuple[str, ...] = ()

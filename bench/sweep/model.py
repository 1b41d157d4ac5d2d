"""A plan as data: every cell in its order, decided before the first one runs."""

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

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


class Plan(Struct, frozen=True, kw_only=True):
    """The cells in order, and what they depend on. `left_out` gives a reason for each arm or task not measured;
    `proposed` is null where nothing is tried. `sources` says, cell by cell, which row of the generation `reuse_from`
    stands for it, and why none where none does; without any, every cell is measured. `foundation` holds a digest of
    each thing that the cells depend on, `harness` the versions behind one of them; null in older plans.

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

    def __post_init__(self) -> None:
        if self.sources and len(self.sources) != len(self.cells):
            raise ValueError(
                f"it says of {len(self.sources)} cells where their rows come from, and has {len(self.cells)}"
            )

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

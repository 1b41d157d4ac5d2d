"""A plan as data: every cell in its order, decided before the first one runs."""

from msgspec import Struct

from bench.arms import Cell

PLAN_VERSION = 1


class Plan(Struct, frozen=True, kw_only=True):
    """The cells in order, and what they depend on. `left_out` gives a reason for each arm or task not measured."""

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

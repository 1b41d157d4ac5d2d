"""A plan as data: every cell in its order, decided before the first one runs."""

from msgspec import Struct

from bench.config import Role


class Cell(Struct, frozen=True, kw_only=True):
    """One measurement to make. `twice` asks for a second, equal run of a deterministic agent."""

    index: int
    task: str
    arm: str
    role: Role
    repeat: int
    twice: bool = False

    @property
    def key(self) -> tuple[str, str, int]:
        return (self.task, self.arm, self.repeat)


class Plan(Struct, frozen=True, kw_only=True):
    """The cells in order, and what they depend on. `left_out` gives a reason for each arm or task not measured."""

    generation: int
    suite: str
    overlay: str | None
    arms: tuple[str, ...]
    tasks: tuple[str, ...]
    cells: tuple[Cell, ...]
    left_out: dict[str, str]
    seed: int

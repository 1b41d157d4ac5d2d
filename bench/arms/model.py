"""A cell as data."""

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
        """What no two cells of a plan share."""
        return (self.task, self.arm, self.repeat)

    @property
    def name(self) -> str:
        """The key as people read and type it."""
        return f"{self.task}/{self.arm}/{self.repeat}"

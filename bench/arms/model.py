"""A cell and a session as data."""

from typing import Literal

from msgspec import Struct

from bench.config import Role
from bench.measured import Charged, ProcessResult, SessionReport

LARGEST_ARTIFACT = 256 * 1024


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


class Turn(Struct, frozen=True, kw_only=True):
    """One attempt at a cell, beside `neighbours` others; `again` is the second half of one that is checked twice."""

    cell: Cell
    attempt: int
    neighbours: int = 0
    again: bool = False


class ModelFault(Struct, frozen=True):
    """What stood between a session and its model: its budget, the provider, or the agent's own requests."""

    kind: Literal["budget", "provider", "too-many", "request"]
    detail: str


class Session(Struct, frozen=True, kw_only=True):
    """What one session left: how its process ended, what its stream says, its artifact's bytes, if any, and how
    many processes it left running; of one that called a model, what was charged and what went wrong.
    """

    name: str
    result: ProcessResult
    report: SessionReport
    artifact: bytes | None
    survivors: int = 0
    charged: Charged | None = None
    fault: ModelFault | None = None

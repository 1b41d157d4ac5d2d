"""What happens in a run, as data: the live table, the plain lines and `--events` are three readers of it."""

from typing import Literal, Protocol

from msgspec import Struct


class RunStarted(Struct, frozen=True, tag="run-started", tag_field="event", kw_only=True):
    """A run has a folder now."""

    run: str
    folder: str
    root: str
    configuration: str


class Noted(Struct, frozen=True, tag="noted", tag_field="event", kw_only=True):
    """Something that a person should know: a shadowed option, a skipped task, a folder that was made."""

    message: str


class GenerationStarted(Struct, frozen=True, tag="generation-started", tag_field="event", kw_only=True):
    """A candidate is frozen; `idea` names it."""

    generation: int
    idea: str
    overlay: str


class SweepStarted(Struct, frozen=True, tag="sweep-started", tag_field="event", kw_only=True):
    """The plan is sealed; earlier rows stand for `reused` of its cells."""

    generation: int
    cells: int
    reused: int = 0
    tasks: int
    arms: tuple[str, ...]
    plan: str


class CellStarted(Struct, frozen=True, tag="cell-started", tag_field="event", kw_only=True):
    """A cell begins; `cell` is task/arm/repeat."""

    cell: str


class CellFinished(Struct, frozen=True, tag="cell-finished", tag_field="event", kw_only=True):
    """A row is durable. `source` says whether the cell was measured for the first time (fresh), measured again to
    notice drift (canary), or not at all (reused).
    """

    cell: str
    task: str
    arm: str
    source: Literal["fresh", "reused", "canary"] = "fresh"
    status: str
    kind: str | None
    resolved: bool
    weighted_f1: float | None
    cost_usd: float | None
    seconds: float
    detail: str
    done: int
    cells: int


class SweepFinished(Struct, frozen=True, tag="sweep-finished", tag_field="event", kw_only=True):
    """No cell runs any more; `stopped` is why it ended early, if it did, and `because` the limit that was reached."""

    generation: int
    rows: int
    cells: int
    stopped: str | None
    because: str | None = None


class DriftFound(Struct, frozen=True, tag="drift-found", tag_field="event", kw_only=True):
    """Cells that were measured again are not what they were: earlier rows are not reused any more."""

    generation: int
    found: str


class VerdictReached(Struct, frozen=True, tag="verdict", tag_field="event", kw_only=True):
    """The gate has decided a generation."""

    generation: int
    decision: str
    reasons: tuple[str, ...]
    report: str


class RunFinished(Struct, frozen=True, tag="run-finished", tag_field="event", kw_only=True):
    """The run is over; `code` is the exit status of the command."""

    run: str
    code: int


Event = (
    RunStarted
    | Noted
    | GenerationStarted
    | SweepStarted
    | CellStarted
    | CellFinished
    | SweepFinished
    | DriftFound
    | VerdictReached
    | RunFinished
)


class Watcher(Protocol):
    """Reads events as they happen, from any thread; must not raise."""

    def see(self, event: Event) -> None:
        """Take one event."""
        ...

    def close(self) -> None:
        """Nothing follows."""
        ...

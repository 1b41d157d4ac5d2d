"""What a multirun's folder holds, as data: its sealed plan, and a line for each thing that becomes of a point."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from bench.config import BudgetConfig, Swept

MULTIRUN_VERSION = 1


class PlannedPoint(Struct, frozen=True, kw_only=True):
    """One point as it was composed before anything was paid: the digest of its configuration, and the number of the
    point that has the same one, where it is a duplicate; cells and the most dollars of its run, null for no limit.
    """

    number: int
    label: str
    configuration: str
    same_as: int | None = None
    cells: int = 0
    at_most: float | None = None


class MultirunPlan(Struct, frozen=True, kw_only=True):
    """The file `plan.json` of a multirun (schemas/multirun-plan.schema.json): all that its points are made of. `points`
    are those that were composed before it began; there are up to `most` of them, the others are composed as their
    turn comes. `budget` holds for all points together.
    """

    schema_version: int
    command: str
    overrides: tuple[str, ...]
    swept: Swept
    most: int
    points: tuple[PlannedPoint, ...]
    budget: BudgetConfig
    at_most: float | None
    seed: int
    started_at: Annotated[datetime, Meta(tz=True)]
    max_failures: int | None = None
    config_dirs: tuple[str, ...] = ()


class PointBegun(Struct, frozen=True, kw_only=True, tag="begun", tag_field="event"):
    """A point has a run of its own."""

    point: int
    label: str
    run: str
    configuration: str


class PointEnded(Struct, frozen=True, kw_only=True, tag="ended", tag_field="event"):
    """The run of a point came to its end, with an exit code; `error` says why it did not, or never began."""

    point: int
    label: str
    run: str | None
    code: int
    error: str | None = None


class PointSkipped(Struct, frozen=True, kw_only=True, tag="skipped", tag_field="event"):
    """A point has the configuration of an earlier one, and is that one."""

    point: int
    label: str
    same_as: int


PointEvent = PointBegun | PointEnded | PointSkipped

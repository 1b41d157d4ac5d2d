"""What `evolve reproduce`, `recipe` and `diff` say, as data. Pure."""

from typing import Literal

from msgspec import Struct

from evolve.gate import Decision
from evolve.lock import Drift
from evolve.replay import Comparison

REPRODUCTION_VERSION = 1

Way = Literal["verdict", "replay", "rerun"]


class Reproduction(Struct, frozen=True, kw_only=True):
    """A generation done again. `drifts` is what it read that is another now, `results` what came out otherwise;
    `notes` says more of these in words. `scores` of them were computed again from artifacts, `not_scored` could not be.
    `run` is the new run, null where nothing was run. `verdict` and `now` are digests of the verdict then and now.

    `outcome` is identical only if nothing differs; what cannot be reproduced at all is an error (exit code 6).
    """

    schema_version: int
    generation: str
    way: Way
    outcome: Literal["identical", "drifted"]
    drifts: tuple[Drift, ...]
    results: tuple[Drift, ...]
    notes: tuple[str, ...]
    rows: int
    artifacts: int
    scores: int
    not_scored: int
    decided: Decision
    decision: Decision
    verdict: str
    now: str
    run: str | None
    code: int


class Value(Struct, frozen=True, kw_only=True):
    """A value of two configurations that is not the same in both: its dotted key, and both as JSON; null where it is
    not there. `origin` says where the second comes from, as far as that is known.
    """

    key: str
    first: str | None
    second: str | None
    origin: str | None = None


class Recipe(Struct, frozen=True, kw_only=True):
    """The words of a run, composed again: what comes out otherwise today, and from which files."""

    schema_version: int
    run: str
    command: str
    overrides: tuple[str, ...]
    same: bool
    values: tuple[Value, ...]
    files: tuple[Drift, ...]
    code: int


class TaskEffect(Struct, frozen=True, kw_only=True):
    """What two runs measured of one task in one pair of arms: incumbent and candidate, in each run."""

    arm: str
    task: str
    first: tuple[float | None, float | None] | None
    second: tuple[float | None, float | None] | None
    effects: tuple[str | None, str | None]


class RunDifference(Struct, frozen=True, kw_only=True):
    """Two generations side by side. `provenance` is what they read otherwise, null where one of them has no lock."""

    schema_version: int
    first: str
    second: str
    configuration: tuple[Value, ...]
    provenance: tuple[Drift, ...] | None
    verdict: Comparison
    tasks: tuple[TaskEffect, ...]

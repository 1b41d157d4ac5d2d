"""A plan as data: every cell in its order, decided before the first one runs."""

from msgspec import Struct

from bench.arms.model import Cell


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


PLAN_VERSION = 2  # 2: `declared` and `proposed`


class Plan(Struct, frozen=True, kw_only=True):
    """The cells in order, and what they depend on. `left_out` gives a reason for each arm or task not measured;
    `proposed` is null where nothing is tried.

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

"""The plan: which cells, in which order. Pure; sealed before the first cell runs."""

import random
from collections.abc import Mapping, Sequence

from bench.arms import Cell
from bench.config import ArmSpec
from bench.errors import ConfigError, OverlayError
from bench.suite import Task
from bench.sweep.model import Plan

SCHEMA_VERSION = 1
CHECKED_TWICE = 0.1  # of a deterministic agent's cells: is the declaration true?


def make_plan(
    arms: Mapping[str, ArmSpec],
    selected: Sequence[str],
    tasks: Sequence[Task],
    *,
    repeats: int,
    deterministic: bool,
    frame: Plan,
) -> Plan:
    """`frame` filled with the cells: task-major, repeat-major, arm-minor, in the order of the selected arms.

    A deterministic agent is measured once per task and arm, and a seeded share of its cells twice.
    """
    _check_arms(arms, selected, frame.overlay)
    count = 1 if deterministic else repeats
    keys = [(task.id, repeat, arm) for task in tasks for repeat in range(count) for arm in selected]
    twice = _checked_twice(keys, frame.seed) if deterministic else frozenset()
    cells = tuple(
        Cell(
            index=index,
            task=task,
            arm=arm,
            role=arms[arm].role,
            repeat=repeat,
            twice=(task, repeat, arm) in twice,
        )
        for index, (task, repeat, arm) in enumerate(keys)
    )
    return Plan(
        schema_version=SCHEMA_VERSION,
        generation=frame.generation,
        suite=frame.suite,
        overlay=frame.overlay,
        configuration=frame.configuration,
        seed=frame.seed,
        arms=tuple(selected),
        tasks=tuple(task.id for task in tasks),
        cells=cells,
        left_out=frame.left_out,
    )


def check_cells(plan: Plan, most: int | None) -> None:
    """Refuse a plan of more cells than the budget allows, before anything is measured."""
    if most is not None and len(plan.cells) > most:
        raise ConfigError(
            f"the plan has {len(plan.cells)} cells, more than budget.cells={most}\n"
            f"  measure fewer tasks (tasks.id=…), fewer repeats, or raise budget.cells"
        )


def _check_arms(arms: Mapping[str, ArmSpec], selected: Sequence[str], overlay: str | None) -> None:
    candidates = [name for name in selected if arms[name].role == "candidate"]
    if overlay is None and candidates:
        raise OverlayError(f"arm {candidates[0]} is a candidate, but there is no overlay to measure")
    for name in candidates:
        if arms[name].candidate_of not in selected:
            raise OverlayError(
                f"arm {name} would be measured without its incumbent {arms[name].candidate_of}"
            )


def _checked_twice(keys: Sequence[tuple[str, int, str]], seed: int) -> frozenset[tuple[str, int, str]]:
    """A seeded tenth of each arm's cells, at least one per arm."""
    chosen: set[tuple[str, int, str]] = set()
    for arm in sorted({key[2] for key in keys}):
        own = [key for key in keys if key[2] == arm]
        share = max(1, round(len(own) * CHECKED_TWICE))
        chosen.update(random.Random(f"{seed}/{arm}").sample(own, share))  # noqa: S311 - a seeded choice, no secret
    return frozenset(chosen)

"""The plan: which cells, in which order. Pure; sealed before the first cell runs."""

import random
from collections.abc import Collection, Mapping, Sequence

from msgspec import UNSET, structs

from bench.arms.model import Cell
from bench.config import ArmSpec
from bench.errors import OverlayError, SuiteError
from bench.suite import Task
from bench.sweep.model import Look, Plan

CHECKED_TWICE = 0.1  # of a deterministic agent's cells: is the declaration true?


def make_plan(
    arms: Mapping[str, ArmSpec],
    selected: Sequence[str],
    tasks: Sequence[Task],
    *,
    repeats: int,
    deterministic: bool,
    frame: Plan,
    looks: Sequence[int] = (),
) -> Plan:
    """`frame` filled with the cells: task-major, repeat-major, arm-minor, in the order of the selected arms. With
    `looks` after some of the repeats they go repeat-major instead, over the tasks in a seeded order of each repeat.

    A deterministic agent is measured once per task and arm, and a seeded share of its cells twice.
    """
    _check_arms(arms, selected, frame.overlay)
    count = 1 if deterministic else repeats
    pauses = sorted({repeat for repeat in looks if 0 < repeat < count})
    places = (
        [(task, repeat) for repeat in range(count) for task in _shuffled(tasks, frame.seed, repeat)]
        if pauses
        else [(task, repeat) for task in tasks for repeat in range(count)]
    )
    keys = [
        (task.id, repeat, arm) for task, repeat in places for arm in selected if works_on(arms[arm], task)
    ]
    planned = {key[0] for key in keys}
    if not planned:
        raise SuiteError(_nothing_planned(selected, tasks))
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
    return structs.replace(
        frame,
        arms=tuple(selected),
        tasks=tuple(task.id for task in tasks if task.id in planned),
        cells=cells,
        left_out={**frame.left_out, **_without_arm(tasks, planned)},
        looks=tuple(Look(repeats=repeat, cells=sum(key[1] < repeat for key in keys)) for repeat in pauses)
        or UNSET,
    )


def _shuffled(tasks: Sequence[Task], seed: int, repeat: int) -> list[Task]:
    """The tasks in the order of one repeat, so that nothing that changes with time falls on the same tasks."""
    return random.Random(f"{seed}/{repeat}").sample(list(tasks), len(tasks))  # noqa: S311 - an order, no secret


def works_on(arm: ArmSpec, task: Task) -> bool:
    """Whether an arm can be measured on a task: a review has labels to find, work has a hidden test to pass."""
    last = arm.ordered_sessions()[-1][1]
    return (last.kind == "review") == task.is_review


def _without_arm(tasks: Sequence[Task], planned: Collection[str]) -> dict[str, str]:
    return {task.id: "no selected arm works on such a task" for task in tasks if task.id not in planned}


def _nothing_planned(selected: Sequence[str], tasks: Sequence[Task]) -> str:
    kind = "review" if tasks[0].is_review else "implementation"
    return (
        f"the arms {', '.join(selected)} work on none of the {len(tasks)} selected tasks, which are {kind} tasks\n"
        f"  choose arms for them: arms=review for reviews, arms=implementation for the others"
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

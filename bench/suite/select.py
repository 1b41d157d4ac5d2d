"""Chooses the tasks of a suite that a run measures, with a reason for each that it does not."""

from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from bench.config import TaskFilter
from bench.errors import SuiteError
from bench.suite.model import Suite, Task
from bench.text import did_you_mean

_MOST_LISTED = 10


class Selection(Struct, frozen=True):
    """The tasks to measure, in the suite's order, and why each other one is skipped, by its id."""

    tasks: tuple[Task, ...]
    skipped: dict[str, str]


def select_tasks(suite: Suite, wanted: TaskFilter, include_expensive: bool) -> Selection:
    """The tasks that match all three patterns of `wanted`; expensive ones only if they are included.

    SuiteError lists what there is when nothing is left.
    """
    reasons = {task.id: _reason(task, wanted, include_expensive) for task in suite.tasks}
    skipped = {name: reason for name, reason in reasons.items() if reason is not None}
    chosen = tuple(task for task in suite.tasks if task.id not in skipped)
    if not chosen:
        raise SuiteError(_nothing_left(suite, wanted, include_expensive))
    return Selection(chosen, skipped)


def _reason(task: Task, wanted: TaskFilter, include_expensive: bool) -> str | None:
    """Why a task is skipped, or None."""
    values = {
        "id": (task.id, wanted.id),
        "class": (task.class_, wanted.class_),
        "split": (task.split, wanted.split),
    }
    for key, (value, pattern) in values.items():
        if not fnmatchcase(value, pattern):
            return f"its {key} does not match tasks.{key}={pattern}"  # one reason for all of them
    if task.expensive and not include_expensive:
        return "expensive; include_expensive=true measures it"
    return None


def _nothing_left(suite: Suite, wanted: TaskFilter, include_expensive: bool) -> str:
    """The first pattern that leaves nothing, with what there is to match; else what keeps the rest out."""
    left = suite.tasks
    for key, pattern, values in (
        ("split", wanted.split, [task.split for task in left]),
        ("class", wanted.class_, [task.class_ for task in left]),
        ("id", wanted.id, [task.id for task in left]),
    ):
        there = sorted(set(values))
        if not any(fnmatchcase(value, pattern) for value in there):
            return (
                f"no task of the suite `{suite.name}` is selected: tasks.{key}={pattern} matches none of its "
                f"{len(left)} tasks{did_you_mean(pattern, there)}\n  there is: {_some(there)}"
            )
    reasons = Counter(str(_reason(task, wanted, include_expensive)) for task in left)
    listed = "".join(f"\n  {count} tasks: {reason}" for reason, count in reasons.most_common(_MOST_LISTED))
    return f"no task of the suite `{suite.name}` is selected{listed}"


def _some(values: Sequence[str]) -> str:
    return ", ".join(values[:_MOST_LISTED]) + (", …" if len(values) > _MOST_LISTED else "")

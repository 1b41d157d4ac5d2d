"""Chooses the tasks of a suite that a run measures, with a reason for each that it does not."""

from fnmatch import fnmatchcase

from msgspec import Struct

from bench.config import TaskFilter
from bench.errors import SuiteError
from bench.suite.model import Suite, Task

_MOST_LISTED = 40


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
        raise SuiteError(_nothing_left(suite, skipped))
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
            return f"its {key} `{value}` does not match tasks.{key}={pattern}"
    if task.expensive and not include_expensive:
        return "expensive; include_expensive=true measures it"
    return None


def _nothing_left(suite: Suite, skipped: dict[str, str]) -> str:
    listed = [
        f"  {task.id} (class {task.class_}, split {task.split}): {skipped[task.id]}"
        for task in suite.tasks[:_MOST_LISTED]
    ]
    more = len(suite.tasks) - len(listed)
    rest = [f"  and {more} more"] if more else []
    return "\n".join([f"no task of the suite `{suite.name}` is selected; it holds:", *listed, *rest])

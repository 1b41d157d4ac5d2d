"""Is there anything to solve? A task whose hidden test passes before any work measures nothing."""

import tempfile
from pathlib import Path

from bench.arms import Place, check_place
from bench.cancellation import Cancellation
from bench.errors import MeasurementError, SuiteError
from bench.scoring import run_oracle
from bench.suite import CommandOracle, Task
from bench.sweep.ground import Ground
from bench.sweep.plan import works_on
from bench.sweep.pool import run_ordered
from bench.workspace import remove_tree


def refuse_solved(ground: Ground, cancellation: Cancellation) -> None:
    """Run the hidden test of every task that some arm works on against its untouched starting state.

    SuiteError names those that pass. A starting state that cannot be made is left to the cells that need it.
    """
    arms = ground.config.arms.values()
    tasks = [
        task
        for task in ground.tasks
        if isinstance(task.oracle, CommandOracle) and any(works_on(arm, task) for arm in arms)
    ]
    solved: list[str] = []

    def fold(task: Task, passes: bool) -> None:
        if passes:
            solved.append(task.id)

    run_ordered(
        tasks,
        lambda task: _passes(ground, task, cancellation),
        fold,
        workers=ground.config.workers,
        window=2 * ground.config.workers,
        cancellation=cancellation,
    )
    if solved:
        raise SuiteError(
            f"the hidden test already passes where nothing was done yet: {', '.join(solved)}\n"
            f"  such a task measures nothing; mend its change or its oracle in {ground.suite.folder}"
        )


def _passes(ground: Ground, task: Task, cancellation: Cancellation) -> bool:
    """Whether the hidden test passes on the untouched starting state."""
    if not isinstance(task.oracle, CommandOracle) or cancellation.cancelled:
        return False
    folder = Path(tempfile.mkdtemp(prefix="b", dir=ground.scratch))
    for name in ("home", "output", "temporary"):
        (folder / name).mkdir()
    try:
        template = ground.templates.build(task)
        copy = ground.workspaces.create(template, folder)
        place = Place(folder, ground.sandbox.layout(folder), copy, template)
        view = copy.last(place.layout.workspace, copy.entries())
        where = check_place(ground.config, ground.environments, task, place, view)
        with ground.cpu:
            return run_oracle(ground.sandbox, where, task.oracle, cancellation).passed
    except MeasurementError:
        return False
    finally:
        remove_tree(folder)

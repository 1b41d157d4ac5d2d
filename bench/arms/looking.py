"""A command beside a cell's sessions, for a person who looks at what they left."""

from collections.abc import Callable

from bench.arms.places import Place
from bench.arms.session import confined_environment, dependency_mounts, limits_of
from bench.arms.tools import open_tools
from bench.arms.workbench import Arm, Workbench
from bench.sandbox import Command, ReadOnly
from bench.suite import Task

# Gets a command that has all but the program to run: /bin/sh -c with nothing.
Look = Callable[[Command], None]

KEEP = 1024 * 1024


def look_command(bench: Workbench, arm: Arm, task: Task, place: Place) -> Command:
    """A command that sees what a session of the arm sees: the working copy below a throw-away layer, the home and
    output that the sessions left (read-only), the task's dependencies and environment, the arm's tools; no oracle.
    """
    layout, folder = place.layout, place.folder
    opened = bench.environments.open(task.environment)
    copy = place.copy.throwaway(layout.workspace)
    return Command(
        argv=("/bin/sh", "-c", ""),
        directory=layout.directory(copy),
        environment=confined_environment(layout, opened),
        mounts=(
            copy,
            ReadOnly(folder / "home", layout.home),
            ReadOnly(folder / "output", layout.output),
            *dependency_mounts(task.dependencies, layout.workspace),
            *opened.mounts,
            *(mount for tool in open_tools(bench, arm, task, layout) for mount in tool.mounts),
        ),
        seconds=bench.config.timeout,
        limits=limits_of(bench.config),
        keep=KEEP,
    )

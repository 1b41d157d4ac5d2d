"""A program: applies one run in a copy of its project for each step, and is killed with SIGKILL at that step.

`killed_applies.py PROJECT COPIES` prints the names of the steps, in order; copy N was killed at step N.
"""

import os
import shutil
import signal
import sys
from pathlib import Path

from apply_builders import RUN, tools

from bench.project import find_run
from evolve.apply import Step, apply_run


def apply_in(project: Path, observe: object) -> None:
    apply_run(project, find_run(project, RUN), tools(observe))


def killed_at(project: Path, number: int) -> None:
    """Runs in a child, and does not return."""
    seen: list[Step] = []

    def observe(step: Step) -> None:
        seen.append(step)
        if len(seen) == number + 1:
            os.kill(os.getpid(), signal.SIGKILL)

    apply_in(project, observe)
    os._exit(1)


def main(project: Path, copies: Path) -> None:
    steps: list[Step] = []
    shutil.copytree(project, copies / "whole")
    apply_in(copies / "whole", steps.append)
    for number, step in enumerate(steps):
        shutil.copytree(project, copies / str(number))
        child = os.fork()
        if child == 0:
            killed_at(copies / str(number), number)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL, status
        print(f"{step.name} {step.path}", flush=True)


main(Path(sys.argv[1]), Path(sys.argv[2]))

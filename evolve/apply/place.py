"""Which project a run belongs to, seen from a folder, and the command line that finds it again from there."""

import shlex
from pathlib import Path

from bench.config import find_root
from bench.project import RUNS
from evolve.errors import ApplyError


def project_of(run: str, explicit: str | None, here: Path) -> Path:
    """The project that is named, that the run's path lies in, that is at or above `here`, or the starter below it."""
    if explicit is None and "/" in run:
        folder = (here / run).resolve()
        if folder.parent.name == RUNS and find_root(folder) == folder.parent.parent:
            return folder.parent.parent
    named = None if explicit is None else Path(explicit)
    root = find_root(here, named) or find_root(here / RUNS / "starter")
    if root is None:
        raise ApplyError(
            "there is no project here (no evolve.toml above)\n  go into one, or name it with --root"
        )
    return root


def command_line(run: str, root: Path, here: Path) -> str:
    """`evolve apply RUN` as a shell in `here` must read it."""
    nearest = find_root(here) or find_root(here / RUNS / "starter")
    return f"evolve apply {run}" + ("" if nearest == root else f" --root {shlex.quote(str(root))}")

"""The command line that finds a run again from a folder."""

import shlex
from pathlib import Path

from bench.config import find_root
from bench.project import RUNS


def command_line(run: str, root: Path, here: Path) -> str:
    """`evolve apply RUN` as a shell in `here` must read it."""
    nearest = find_root(here) or find_root(here / RUNS / "starter")
    return f"evolve apply {run}" + ("" if nearest == root else f" --root {shlex.quote(str(root))}")

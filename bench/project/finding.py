"""Finds a run, and the project that it belongs to, by what a person typed."""

from pathlib import Path

from bench.config import find_root
from bench.errors import RunError
from bench.project.runs import RUNS, RunFolder, list_runs
from bench.text import did_you_mean, printable

_MOST_NAMED = 10


def find_project(run: str, explicit: str | None, here: Path) -> Path:
    """The project that is named, that the run's path lies in, that is at or above `here`, or the starter below it.

    Unlike a command that measures, this never makes one: RunError if there is none.
    """
    if explicit is None and "/" in run:
        folder = (here / run).resolve()
        if folder.parent.name == RUNS and find_root(folder) == folder.parent.parent:
            return folder.parent.parent
    named = None if explicit is None else Path(explicit)
    root = find_root(here, named) or find_root(here / RUNS / "starter")
    if root is None:
        raise RunError(
            "there is no project here (no evolve.toml above)\n  go into one, or name it with --root"
        )
    return root


def split_generation(name: str) -> tuple[str, int | None]:
    """RUN/gen-N as run and number; the number is None where no generation is named."""
    run, _, number = name.rstrip("/").rpartition("/gen-")
    return (run, int(number)) if run and number.isdecimal() else (name.rstrip("/"), None)


def find_run(root: Path, name: str) -> RunFolder:
    """The run of this id, the only one whose id begins so, or the one in this folder. RunError lists what there is."""
    runs = list_runs(root)
    if "/" in name or name in {".", ".."}:
        places = {Path(name).resolve(), (root / name).resolve()}
        found = [run for run in runs if run.path.resolve() in places]
    else:
        found = [run for run in runs if run.id == name] or [run for run in runs if run.id.startswith(name)]
    if len(found) == 1:
        return found[0]
    ids = [run.id for run in found or runs]
    listed = "".join(f"\n  {each}" for each in ids[-_MOST_NAMED:]) or " none"
    shown = printable(name)
    if found:
        raise RunError(f"{len(found)} runs begin with {shown!r}; name one of them:{listed}")
    raise RunError(
        f"there is no run {shown!r} in {root / RUNS}{did_you_mean(name, ids)}; the newest there:{listed}"
    )

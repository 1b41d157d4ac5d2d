"""Finds what would show an agent something hidden: a task that brings labels or an oracle into the working copy."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.config import KeyPath
from bench.suite.declared import DeclaredTask


def leaks(folder: Path, tasks: Sequence[DeclaredTask]) -> Iterator[tuple[KeyPath, str]]:
    """Each part of the suite file in `folder` that would put a hidden file where an agent can read it."""
    hidden = sorted({path for task in tasks for path in _hidden(task)}, reverse=True)
    holds = {place: path for path in hidden for place in _places((folder / path).resolve())}
    for number, task in enumerate(tasks):
        for key, path in _shown(task):
            source = (folder / path).resolve()
            # The suite's own folder is taken out of a tree that holds all of it.
            is_stripped = key == ("source", "tree") and source in folder.parents
            if source in holds and not is_stripped:
                yield ("tasks", number, *key), f"`{path}` would show an agent the hidden `{holds[source]}`"


def _places(file: Path) -> Iterator[Path]:
    """The file and every folder that holds it."""
    yield file
    yield from file.parents


def _hidden(task: DeclaredTask) -> Iterator[str]:
    if task.oracle.labels is not None:
        yield task.oracle.labels
    yield from (file.source for file in task.oracle.files)
    yield from task.solutions.wrong
    if task.solutions.reference is not None:
        yield task.solutions.reference


def _shown(task: DeclaredTask) -> Iterator[tuple[KeyPath, str]]:
    """What an agent gets to see, directly or in its working copy."""
    yield ("prompt",), task.prompt
    if task.change not in (None, "all"):
        yield ("change",), str(task.change)
    if task.source.tree is not None:
        yield ("source", "tree"), task.source.tree
    for number, asset in enumerate(task.assets):
        yield ("assets", number), asset.source
    for number, dependency in enumerate(task.dependencies):
        yield ("dependencies", number), dependency.source

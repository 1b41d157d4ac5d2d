"""Putting files of the harness into a working copy before a session sees it."""

import os
import stat
from collections.abc import Iterable

from bench.errors import WorkspaceError
from bench.workspace.paths import shown
from bench.workspace.protocol import Leaf
from bench.workspace.tree import REGULAR, Tree


def place_file(tree: Tree, path: bytes, content: bytes, seen: Iterable[Tree]) -> None:
    """Write a file into `tree`, in place of one that is there. `seen` are all the trees that a session sees at
    once: WorkspaceError if one of them has a link or file where a folder is needed, or a folder at `path`.
    """
    parts = path.split(b"/")
    above = [b"/".join(parts[:length]) for length in range(1, len(parts))]
    for each in seen:
        _refuse_obstacle(each, above, path)
    tree.remove(path)
    tree.write(path, Leaf(REGULAR, content))


def _refuse_obstacle(tree: Tree, above: list[bytes], path: bytes) -> None:
    statuses = ((folder, tree.status(folder)) for folder in above)
    obstacle = next((name for name, found in statuses if found and not stat.S_ISDIR(found.st_mode)), None)
    there = tree.status(path)
    if obstacle is None and (there is None or not stat.S_ISDIR(there.st_mode)):
        return
    raise WorkspaceError(
        f"{shown(path)!r} cannot be put into a working copy of {os.fsdecode(tree.root)}: "
        f"{shown(obstacle or path)!r} is {'not ' if obstacle else ''}a folder there"
    )

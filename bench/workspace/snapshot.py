"""The state of a working copy as data, so that it can be made again after everything on this machine stopped."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.errors import WorkspaceError
from bench.workspace.protocol import Entry, Kept, WorkingCopy
from bench.workspace.tree import Tree


def snapshot(copy: WorkingCopy, changed: Iterable[Entry], most: int) -> tuple[Kept, ...] | None:
    """All that differs from the template: what `changed` and, beside it, `.git`; None for what cannot be made again: more than `most`
    bytes, or a pipe, a device, a file too large to be read.
    """
    kept, room = [], most
    for entry in (*changed, *_repository(copy)):
        leaf = None if entry.kind == "deleted" else copy.leaf(entry.path)
        if entry.kind != "deleted" and leaf is None:
            return None
        room -= len(entry.path) + len(leaf.content if leaf else b"")
        if room < 0:
            return None
        kept.append(Kept(entry.path, leaf))
    return tuple(kept)


def _repository(copy: WorkingCopy) -> Iterator[Entry]:
    """The changed paths of `.git`; what is special there, a socket say, is nothing that git would miss."""
    return (entry for entry in copy.repository() if entry.kind != "special")


def files_below(folder: Path, most: int) -> tuple[Kept, ...] | None:
    """The files and links below a folder, as a state; None if they hold more than `most` bytes."""
    tree, kept, room = Tree(os.fsencode(folder)), [], most
    for found in tree.walk(without=()):
        leaf = None if found.folder or found.special else tree.read(found.path, max(room, 0))
        if leaf is not None:
            kept.append(Kept(found.path, leaf))
            room -= len(found.path) + len(leaf.content)
        elif not found.folder and not found.special:
            return None
    return tuple(kept)


def write_files(folder: Path, state: Iterable[Kept]) -> None:
    """Make the files and links of a state in a new folder; WorkspaceError if they do not fit."""
    tree = Tree(os.fsencode(folder))
    try:
        for kept in state:
            if kept.leaf is not None:
                tree.write(kept.path, kept.leaf)
    except OSError as error:
        raise WorkspaceError(f"{folder} cannot be restored: {error}") from error

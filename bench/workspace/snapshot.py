"""The state of a working copy as data, so that it can be made again after everything on this machine stopped."""

from collections.abc import Iterator

from bench.workspace.protocol import Entry, Kept, WorkingCopy


def snapshot(copy: WorkingCopy, most: int) -> tuple[Kept, ...] | None:
    """All that differs from the template, `.git` included; None for what cannot be made again: more than `most`
    bytes, or a pipe, a device, a file too large to be read.
    """
    kept, room = [], most
    for entry in _entries(copy):
        leaf = None if entry.kind == "deleted" else copy.leaf(entry.path)
        if entry.kind != "deleted" and leaf is None:
            return None
        room -= len(entry.path) + len(leaf.content if leaf else b"")
        if room < 0:
            return None
        kept.append(Kept(entry.path, leaf))
    return tuple(kept)


def _entries(copy: WorkingCopy) -> Iterator[Entry]:
    """The changed paths; what is special within `.git`, a socket say, is nothing that git would miss."""
    yield from copy.entries()
    yield from (entry for entry in copy.repository() if entry.kind != "special")

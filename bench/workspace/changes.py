"""Which paths of a tree are no longer as another tree has them."""

import os
import stat
from collections.abc import Collection, Iterable

from bench.workspace.protocol import ChangeKind, Entry
from bench.workspace.tree import LARGEST, Tree, git_mode


def entries_between(
    original: Tree,
    current: Tree,
    suspicious: Iterable[bytes],
    gone: Iterable[bytes],
    placed: Collection[bytes],
) -> tuple[Entry, ...]:
    """The changes in path order: the suspicious files and links of `current` that really differ from those of
    `original`, and those of `original` that are gone; the paths that the harness itself placed are none.
    """
    kinds = ((path, classified(current, original, path)) for path in suspicious if path not in placed)
    changed = [Entry(path, kind) for path, kind in kinds if kind is not None]
    deleted = [Entry(path, "deleted") for path in gone if path not in placed]
    return tuple(sorted(changed + deleted, key=lambda entry: entry.path))


def classified(current: Tree, original: Tree, path: bytes) -> ChangeKind | None:
    """How what is at `path` in `current` differs from the file or link in `original`; None if it does not."""
    now, before = current.status(path), original.status(path)
    if now is None or git_mode(now) is None:
        return "special"
    known = before is not None and git_mode(before) is not None
    if before is not None and known and _same(current, original, path, now, before):
        return None
    if stat.S_ISREG(now.st_mode) and now.st_size > LARGEST:
        return "special"
    return "modified" if known else "added"


def _same(current: Tree, original: Tree, path: bytes, now: os.stat_result, before: os.stat_result) -> bool:
    """Equal modes and bytes. Only files of equal size are read: the original's own size bounds the work."""
    if git_mode(now) != git_mode(before) or now.st_size != before.st_size:
        return False
    if stat.S_ISLNK(now.st_mode):
        return current.read(path) == original.read(path)
    return current.equals(original, path)

"""Removing a folder whatever a session did to it."""

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from bench.errors import WorkspaceError
from bench.workspace.paths import shown

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEP = 16  # folders inside each other that are held open at once
_NAMED = 5  # leftovers that a message names


def remove_tree(folder: Path) -> None:
    """Remove a folder and all below it, however deep, closed or strangely named; nothing if it is not there.
    A link is removed, not followed. WorkspaceError names what cannot be removed.
    """
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        folder.unlink()
        return
    left = list(_removed(folder, status))
    if left:
        names = ", ".join(left[:_NAMED])
        raise WorkspaceError(
            f"{len(left)} entries of {folder} cannot be removed: {names}; remove them by hand"
        )


def remove_trees(folders: Iterable[Path]) -> None:
    """Remove every one of these folders that can be; one WorkspaceError names all that cannot."""
    failures = []
    for folder in folders:
        try:
            remove_tree(folder)
        except WorkspaceError as error:
            failures.append(str(error))
    if failures:
        raise WorkspaceError("; ".join(failures))


class _Deep(Struct, frozen=True):
    """A deep folder, moved up to the root of a removal, and the path that it had before."""

    name: str
    path: str


class _Removal(Struct, frozen=True):
    """A removal at work: its root, the device that this is on, and the deep folders that are still to be emptied."""

    root: int
    device: int
    deep: list[_Deep]


def _removed(folder: Path, status: os.stat_result) -> Iterator[str]:
    """Remove a folder and yield what could not be removed, and why. A deep inner folder is first moved up to the
    root, so that no depth of nesting exhausts descriptors, the stack or the longest path.
    """
    if status.st_mode & stat.S_IRWXU != stat.S_IRWXU:
        folder.chmod(stat.S_IRWXU)
    root = os.open(folder, _FOLDER)
    removal = _Removal(root, status.st_dev, [])
    try:
        yield from _clear(removal, root, "", 0)
        while removal.deep:
            deep = removal.deep.pop()
            yield from _remove_folder(removal, root, deep.name, deep.path, 1)
    finally:
        os.close(root)
    try:
        folder.rmdir()
    except OSError as error:
        yield from _complaint(error, "")


def _clear(removal: _Removal, folder: int, prefix: str, depth: int) -> Iterator[str]:
    """Remove what is in `folder`, and yield what of it could not be."""
    with os.scandir(folder) as listing:
        entries = list(listing)
    for entry in entries:
        path = prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from _remove_folder(removal, folder, entry.name, path, depth + 1)
            continue
        try:
            os.unlink(entry.name, dir_fd=folder)
        except OSError as error:
            yield from _complaint(error, path)


def _remove_folder(removal: _Removal, folder: int, name: str, path: str, depth: int) -> Iterator[str]:
    """Remove a folder within `folder`, unless it is deep: then it is moved aside for later."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if status.st_dev != removal.device:
            yield f"{_named(path)} (something is mounted there)"
            return
        if status.st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(name, stat.S_IRWXU, dir_fd=folder)
        if depth > _DEEP:
            removal.deep.append(_moved(removal, folder, name, path))
            return
        inner = os.open(name, _FOLDER, dir_fd=folder)
        try:
            yield from _clear(removal, inner, path + "/", depth)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=folder)
    except OSError as error:
        yield from _complaint(error, path)


def _moved(removal: _Removal, folder: int, name: str, path: str) -> _Deep:
    aside = secrets.token_hex(16)
    os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=removal.root)
    return _Deep(aside, path)


def _complaint(error: OSError, path: str) -> Iterator[str]:
    """What could not be removed, unless that only follows from something already told."""
    if error.errno != errno.ENOTEMPTY:
        yield f"{_named(path)} ({error.strerror})"


def _named(path: str) -> str:
    return repr(shown(os.fsencode(path)))

"""Removing a folder whatever a session did to it."""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from bench.errors import WorkspaceError
from bench.workspace.paths import shown

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
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
    left = [*_emptied(folder, status), *_failing(folder.rmdir, "", errno.ENOTEMPTY)]
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


class _Doomed(Struct, frozen=True):
    """A folder directly below the root of a removal, and the path that it had before it was moved there."""

    name: str
    path: str


def _emptied(folder: Path, status: os.stat_result) -> Iterator[str]:
    """Empty a folder and yield what could not be removed, and why. An inner folder is first moved up to the
    root, so that no depth of nesting exhausts descriptors, the stack or the longest path.
    """
    folder.chmod(stat.S_IRWXU)
    root = os.open(folder, _FOLDER)
    try:
        pending: list[_Doomed] = []
        yield from _clear(root, root, "", status.st_dev, pending)
        while pending:
            doomed = pending.pop()
            inner = os.open(doomed.name, _FOLDER, dir_fd=root)
            try:
                yield from _clear(root, inner, doomed.path + "/", status.st_dev, pending)
            finally:
                os.close(inner)
            yield from _failing(lambda: os.rmdir(doomed.name, dir_fd=root), doomed.path, errno.ENOTEMPTY)  # noqa: B023
    finally:
        os.close(root)


def _clear(root: int, folder: int, prefix: str, device: int, pending: list[_Doomed]) -> Iterator[str]:
    """Remove what is directly in `folder`; its own folders become `pending`."""
    with os.scandir(folder) as listing:
        entries = list(listing)
    for entry in entries:
        path = prefix + entry.name
        try:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.name, dir_fd=folder)
            elif os.stat(entry.name, dir_fd=folder, follow_symlinks=False).st_dev != device:
                yield f"{_named(path)} (something is mounted there)"
            else:
                pending.append(_moved(root, folder, entry.name, path))
        except OSError as error:
            yield f"{_named(path)} ({error.strerror})"


def _moved(root: int, folder: int, name: str, path: str) -> _Doomed:
    os.chmod(name, stat.S_IRWXU, dir_fd=folder)
    aside = secrets.token_hex(16)
    os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=root)
    return _Doomed(aside, path)


def _failing(action: Callable[[], None], path: str, expected: int = 0) -> Iterator[str]:
    """Do it, and yield what went wrong, unless that only follows from something already told."""
    try:
        action()
    except OSError as error:
        if error.errno != expected:
            yield f"{_named(path)} ({error.strerror})"


def _named(path: str) -> str:
    return repr(shown(os.fsencode(path)))

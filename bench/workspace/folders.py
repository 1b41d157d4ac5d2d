"""Whole folders, copied with their modes and times."""

# ruff: noqa: PTH101, PTH102, PTH115, PTH211 - paths of a tree are bytes, which pathlib does not know

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.workspace.tree import Found, Tree

CopyFile = Callable[[bytes, bytes], None]

_FICLONE = 0x40049409  # linux/fs.h: _IOW(0x94, 9, int)
_MOST_SENT = 1 << 30  # bytes at once


def copy_file(source: bytes, target: bytes) -> None:
    """Copy a file's bytes."""
    with _both(source, target) as (original, copy):
        while os.sendfile(copy, original, None, _MOST_SENT):
            pass


def clone_file(source: bytes, target: bytes) -> None:
    """Share a file's blocks until one of the two is written; OSError where the file system cannot."""
    with _both(source, target) as (original, clone):
        fcntl.ioctl(clone, _FICLONE, original)


@contextmanager
def _both(source: bytes, target: bytes) -> Iterator[tuple[int, int]]:
    """Descriptors of a file and of a new one."""
    original = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        copy = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            yield original, copy
        finally:
            os.close(copy)
    finally:
        os.close(original)


def share_file(source: bytes, target: bytes) -> None:
    """Give a file a second name, or copy it where names cannot be shared. Only for trees in which files are
    replaced, never written in place.
    """
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        copy_file(source, target)


def everything(_: Found) -> bool:
    """Copy all of it."""
    return True


def copy_folder(
    source: bytes, target: bytes, copy: CopyFile, wanted: Callable[[Found], bool] = everything
) -> None:
    """Copy a folder's files, links and folders, with modes and times of modification, to a new folder `target`.
    Nothing special is copied.
    """
    tree, made = Tree(source), Tree(target)
    os.mkdir(target)
    for found in tree.walk(without=()):
        place = made.at(found.path)
        if found.folder:
            os.mkdir(place, stat.S_IMODE(found.status.st_mode) | stat.S_IRWXU)
        elif not found.special and wanted(found):
            _copy_leaf(tree.at(found.path), place, found.status, copy)


def _copy_leaf(source: bytes, target: bytes, status: os.stat_result, copy: CopyFile) -> None:
    if stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(source), target)
    else:
        copy(source, target)
        os.chmod(target, stat.S_IMODE(status.st_mode) & 0o777 | stat.S_IRUSR)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=False)

"""Whole folders, copied with their modes and times."""

# ruff: noqa: PTH102, PTH115, PTH211 - paths of a tree are bytes, which pathlib does not know

import fcntl
import os
import stat
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from bench.workspace.tree import Found, Tree

CopyFile = Callable[[int, int], None]

_FICLONE = 0x40049409  # linux/fs.h: _IOW(0x94, 9, int)
_BLOCK = 256 * 1024  # bytes
_SMALL = 256 * 1024  # bytes, of a folder that is kept at hand
_ENTRY = 512  # bytes, for each of its entries
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def copy_file(original: int, copy: int) -> None:
    """Copy the bytes of an open file to another one."""
    while block := os.read(original, _BLOCK):
        _write(copy, block)
        if len(block) < _BLOCK:
            return


def _write(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:  # one write, unless the disk is full: the next one then says so
        left = left[os.write(descriptor, left) :]


def clone_file(original: int, clone: int) -> None:
    """Share a file's blocks until one of the two is written; OSError where the file system cannot."""
    fcntl.ioctl(clone, _FICLONE, original)


def everything(_: Found) -> bool:
    """Copy all of it."""
    return True


def copy_folder(
    source: bytes,
    target: bytes,
    copy: CopyFile = copy_file,
    wanted: Callable[[Found], bool] = everything,
    *,
    share: bool = False,
) -> None:
    """Copy a folder's files, links and folders, with modes and times of modification, to a new folder `target`.
    Nothing special is copied. With `share`, a file gets a second name where the file system can: only for trees
    in which files are replaced, never written in place.
    """
    tree, made = Tree(source), Tree(target)
    os.mkdir(target)
    for found in tree.walk(without=()):
        place = made.at(found.path)
        if found.folder:
            os.mkdir(place, stat.S_IMODE(found.status.st_mode) | stat.S_IRWXU)
        elif not found.special and wanted(found):
            leaf = tree.at(found.path)
            if not (share and _shared(leaf, place)):
                _copy_leaf(leaf, place, found.status, copy)


class SmallFolder(Struct, frozen=True):
    """A folder that is copied so often that its few bytes are kept at hand: (path, mode, times, bytes or, of a
    folder, None), folders before what is in them.
    """

    items: tuple[tuple[bytes, int, tuple[int, int], bytes | None], ...]

    def write(self, target: bytes) -> dict[bytes, os.stat_result]:
        """Make a new folder `target` like it. Returns what the system says of its files, by path."""
        os.mkdir(target)
        made_files = {}
        for path, mode, times, content in self.items:
            place = target + b"/" + path
            if content is None:
                os.mkdir(place, mode)
                continue
            made = os.open(place, _CREATE, 0o600)
            try:
                _write(made, content)
                os.fchmod(made, mode)
                os.utime(made, ns=times)
                made_files[path] = os.fstat(made)
            finally:
                os.close(made)
        return made_files


def read_small(source: Path) -> SmallFolder | None:
    """A folder with its bytes; None if they are many, or if something in it is neither file nor folder."""
    tree, items, room = Tree(os.fsencode(source)), [], _SMALL
    for found in tree.walk(without=()):
        status = found.status
        room -= status.st_size + _ENTRY
        if room < 0 or not (found.folder or stat.S_ISREG(status.st_mode)):
            return None
        content = None if found.folder else _content(tree.at(found.path))
        needed = stat.S_IRWXU if found.folder else stat.S_IRUSR
        mode = stat.S_IMODE(status.st_mode) & 0o777 | needed
        items.append((found.path, mode, (status.st_atime_ns, status.st_mtime_ns), content))
    return SmallFolder(tuple(items))


def _content(path: bytes) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123 - a path in bytes
        return file.read()


def _shared(source: bytes, target: bytes) -> bool:
    """Whether a file could be given a second name."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        return False
    return True


def _copy_leaf(source: bytes, target: bytes, status: os.stat_result, copy: CopyFile) -> None:
    times = (status.st_atime_ns, status.st_mtime_ns)
    if stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(source), target)
        os.utime(target, ns=times, follow_symlinks=False)
        return
    original = os.open(source, _READ)
    try:
        made = os.open(target, _CREATE, 0o600)
        try:
            copy(original, made)
            os.fchmod(made, stat.S_IMODE(status.st_mode) & 0o777 | stat.S_IRUSR)
            os.utime(made, ns=times)
        finally:
            os.close(made)
    finally:
        os.close(original)

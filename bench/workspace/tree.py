"""A folder of files and links, reached component by component: never through a link, whatever was closed in it."""

# ruff: noqa: PTH106 - paths of a tree are bytes, which pathlib does not know

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import BinaryIO, TypeVar

from msgspec import Struct

from bench.workspace.paths import LONGEST_PATH
from bench.workspace.protocol import Leaf

REGULAR = 0o100644
EXECUTABLE = 0o100755
LINK = 0o120000

# A larger file of a session is never read: it may be sparse and have no end.
LARGEST = 64 * 1024 * 1024

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK = 1024 * 1024
_NEEDED = {stat.S_IFDIR: stat.S_IRWXU, stat.S_IFREG: stat.S_IRUSR}

_Result = TypeVar("_Result")


class Found(Struct, frozen=True):
    """One thing in a tree. A folder that is too deep to be followed counts as special."""

    path: bytes
    status: os.stat_result
    folder: bool

    @property
    def special(self) -> bool:
        return not self.folder and git_mode(self.status) is None


class Tree(Struct, frozen=True):
    """A tree at `root`. What a session closed in a tree of `ours` (mode 000) is opened again on the way; a tree
    of the user is never touched.
    """

    root: bytes
    ours: bool = True

    def at(self, path: bytes) -> bytes:
        """The path of the host for a path of the tree."""
        return self.root + b"/" + path if path else self.root

    def walk(self, without: Collection[bytes] = (b".git",)) -> Iterator[Found]:
        """Everything in the tree but the paths of `without` and what is below them, folders before what is in
        them; nothing if the root is no folder.
        """
        pending = [b""] if self._listable() else []
        while pending:
            for found in self._listed(pending.pop(), without):
                if found.folder:
                    pending.append(found.path)
                yield found

    def may_have(self, path: bytes) -> bool:
        """False only if nothing is at `path`. Links on the way are followed: this is quick, and no proof."""
        try:
            os.lstat(self.at(path))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        return True

    def status(self, path: bytes) -> os.stat_result | None:
        """What is at `path`; None if nothing is."""
        return self._there(path, lambda folder, name: os.stat(name, dir_fd=folder, follow_symlinks=False))

    def read(self, path: bytes, most: int | None = LARGEST) -> Leaf | None:
        """The file or link at `path`; None if nothing is there, or something else, or a file above `most` bytes."""
        return self._there(path, lambda folder, name: self._read(folder, name, most))

    def write(self, path: bytes, leaf: Leaf, modified: int | None = None) -> None:
        """Make a new file or link, and the folders above it; FileExistsError if something is there already.
        `modified` is its time of modification, in nanoseconds.
        """
        name = path.rpartition(b"/")[2]
        with self._parent(path, make=True) as folder:
            _create(folder, name, leaf)
            if modified is not None:
                os.utime(name, ns=(modified, modified), dir_fd=folder, follow_symlinks=False)

    def make_folder(self, path: bytes) -> None:
        """Make a folder, and those above it, where they are missing."""
        with self._parent(path + b"/", make=True):
            return

    def remove(self, path: bytes) -> None:
        """Remove what is at `path`, if it is there and no folder; the folders above it stay."""
        self._there(path, _unlink)

    def hide(self, path: bytes) -> None:
        """Record, as overlayfs does, that what a lower tree has at `path` is gone; nothing where this tree has
        something else there, or no folder above it, which hides it as well.
        """
        try:
            with self._parent(path, make=True) as folder:
                name = path.rpartition(b"/")[2]
                os.mknod(name, stat.S_IFCHR | 0o600, os.makedev(0, 0), dir_fd=folder)
        except (FileExistsError, NotADirectoryError):
            return

    def prune(self, folder: bytes) -> None:
        """Remove a folder that has become empty, and those above it that become so."""
        while folder:
            try:
                os.rmdir(self.at(folder))
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.ENOENT):
                    return
                raise
            folder = folder.rpartition(b"/")[0]

    def equals(self, other: "Tree", path: bytes) -> bool:
        """Whether both trees have the same bytes at `path`, where both have a file."""
        name = path.rpartition(b"/")[2]
        with (
            self._parent(path) as here,
            other._parent(path) as there,  # noqa: SLF001 - it is a tree as well
            self._opened(here, name) as one,
            other._opened(there, name) as two,  # noqa: SLF001
        ):
            return all(block == two.read(_BLOCK) for block in iter(lambda: one.read(_BLOCK), b""))

    def _listable(self) -> bool:
        try:
            status = os.lstat(self.root)
        except FileNotFoundError:
            return False
        if stat.S_ISDIR(status.st_mode):
            self._unlock(self.root, status)
        return stat.S_ISDIR(status.st_mode)

    def _listed(self, folder: bytes, without: Collection[bytes]) -> list[Found]:
        prefix = folder + b"/" if folder else b""
        with os.scandir(self.at(folder)) as listing:
            wanted = [entry for entry in listing if prefix + entry.name not in without]
            found = [_found(prefix + entry.name, entry.stat(follow_symlinks=False)) for entry in wanted]
        for each in found:
            if _missing(each.status):
                self._unlock(self.at(each.path), each.status)
        return found

    def _unlock(self, place: bytes, status: os.stat_result, folder: int | None = None) -> None:
        """Give the owner of a closed folder or file the permissions that reading and removing it need."""
        missing = _missing(status)
        if self.ours and missing:
            os.chmod(place, stat.S_IMODE(status.st_mode) | missing, dir_fd=folder)

    def _there(self, path: bytes, action: Callable[[int, bytes], _Result]) -> _Result | None:
        """What `action` makes of the parent folder and the name of `path`; None if there is no such place."""
        try:
            with self._parent(path) as folder:
                return action(folder, path.rpartition(b"/")[2])
        except (FileNotFoundError, NotADirectoryError):
            return None

    @contextmanager
    def _parent(self, path: bytes, *, make: bool = False) -> Iterator[int]:
        """A descriptor of the folder that holds `path`."""
        folder = self._enter(None, self.root)
        try:
            for component in path.split(b"/")[:-1]:
                if make:
                    _make_folder(folder, component)
                inner = self._enter(folder, component)
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)

    def _enter(self, folder: int | None, name: bytes) -> int:
        self._unlock(name, os.stat(name, dir_fd=folder, follow_symlinks=False), folder)
        return os.open(name, _FOLDER, dir_fd=folder)

    def _read(self, folder: int, name: bytes, most: int | None) -> Leaf | None:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        mode = git_mode(status)
        if mode is None or (mode != LINK and most is not None and status.st_size > most):
            return None
        if mode == LINK:
            return Leaf(mode, os.readlink(name, dir_fd=folder))
        with self._opened(folder, name) as stream:
            return Leaf(mode, stream.read(-1 if most is None else most))

    def _opened(self, folder: int, name: bytes) -> BinaryIO:
        self._unlock(name, os.stat(name, dir_fd=folder, follow_symlinks=False), folder)
        return os.fdopen(os.open(name, _READ, dir_fd=folder), "rb")


def _found(path: bytes, status: os.stat_result) -> Found:
    return Found(path, status, stat.S_ISDIR(status.st_mode) and len(path) <= LONGEST_PATH)


def _missing(status: os.stat_result) -> int:
    """The permissions that its owner lacks to read it or to remove what is in it."""
    return _NEEDED.get(stat.S_IFMT(status.st_mode), 0) & ~status.st_mode


def git_mode(status: os.stat_result) -> int | None:
    """The mode that git records for a file or link; None for anything else."""
    if stat.S_ISLNK(status.st_mode):
        return LINK
    if not stat.S_ISREG(status.st_mode):
        return None
    return EXECUTABLE if status.st_mode & stat.S_IXUSR else REGULAR


def _make_folder(folder: int, name: bytes) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=folder)
    except FileExistsError:
        return  # whether it is a folder shows when it is entered


def _unlink(folder: int, name: bytes) -> None:
    if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=folder)


def _create(folder: int, name: bytes, leaf: Leaf) -> None:
    if leaf.mode == LINK:
        os.symlink(leaf.content, name, dir_fd=folder)
        return
    with os.fdopen(os.open(name, _CREATE, 0o600, dir_fd=folder), "wb") as stream:
        stream.write(leaf.content)
        os.fchmod(stream.fileno(), leaf.mode & 0o777)

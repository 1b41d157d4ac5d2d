"""The project's folders, held open: what happens below them cannot be led elsewhere by a link or a rename."""

import errno
import fcntl
import os
import stat
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self

from msgspec import Struct

from bench.suite import Refused, shown
from evolve.errors import ApplyError

MOST_BYTES = 16 << 20

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a FIFO would wait for its other end.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

FileId = tuple[int, int]  # device and inode


class FileState(Struct, frozen=True):
    """A regular file at one moment: which one it is, its permissions, its owner and group, its bytes."""

    id: FileId
    mode: int
    owner: tuple[int, int]
    content: bytes


class Folders:
    """The root of a project and folders below it, by descriptor. One holder at a time: ApplyError for a second."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._held: dict[str, int] = {}

    def hold(self, path: str) -> int:
        """A descriptor of a folder, by its path from the root ("" is the root). Refused when a link leads there."""
        if path not in self._held:
            self._held[path] = _walk(self._held[""], path)
        return self._held[path]

    def names(self, path: str) -> list[str]:
        """The names of the entries of a folder, sorted. Refused as `hold` does."""
        return sorted(os.listdir(self.hold(path)))  # noqa: PTH208 - pathlib cannot list a descriptor

    def check(self) -> None:
        """ApplyError when a held folder is not any more what its path leads to."""
        again = _open_root(self.root)
        try:
            for path, descriptor in self._held.items():
                found = _walk(again, path)
                try:
                    if _id(os.fstat(found)) != _id(os.fstat(descriptor)):
                        raise ApplyError(f"the folder {shown(path or self.root)} was replaced meanwhile")
                finally:
                    os.close(found)
        except Refused as refusal:
            raise ApplyError(f"the project changed meanwhile: {refusal}") from refusal
        finally:
            os.close(again)

    def sync(self) -> None:
        """Wait until the disk has the entries of all held folders."""
        for descriptor in self._held.values():
            os.fsync(descriptor)

    def __enter__(self) -> Self:
        self._held[""] = _open_root(self.root)
        try:
            fcntl.flock(self._held[""], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            busy = error.errno in (errno.EAGAIN, errno.EACCES)
            reason = (
                "another `evolve apply` is at work" if busy else f"no lock is to be had ({error.strerror})"
            )
            raise ApplyError(f"{shown(self.root)}: {reason}\n  wait for it to end, then try again") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of everything, and of the lock."""
        while self._held:
            os.close(self._held.popitem()[1])


def parent_of(path: str) -> str:
    """The folder of a path from the root, as `hold` takes it."""
    parent = str(PurePosixPath(path).parent)
    return "" if parent == "." else parent


def name_of(path: str) -> str:
    """The last part of a path."""
    return PurePosixPath(path).name


def read_state(folder: int, name: str) -> FileState:
    """The state of an entry of an open folder. Refused unless it is one regular file that stays as it is."""
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        raise Refused(_reason(error)) from error
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise Refused("is not a regular file")
        content = _content(descriptor)
        after = os.fstat(descriptor)
        if _version(before) != _version(after) or id_of(folder, name) != _id(after):
            raise Refused("changed while it was read")
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
    return FileState(_id(after), stat.S_IMODE(after.st_mode), (after.st_uid, after.st_gid), content)


def id_of(folder: int, name: str) -> FileId | None:
    """Which file an entry is, links not followed; None if it is not there."""
    try:
        return _id(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return None


def _open_root(root: Path) -> int:
    try:
        descriptor = os.open(root, _FOLDER)
    except OSError as error:
        raise ApplyError(f"the project {shown(root)} cannot be opened: {error.strerror}") from error
    if _id(os.fstat(descriptor)) != _id(root.lstat()):
        os.close(descriptor)
        raise ApplyError(f"the project {shown(root)} was replaced meanwhile")
    return descriptor


def _walk(root: int, path: str) -> int:
    """A new descriptor of the folder at `path`, one step at a time."""
    descriptor = os.open(".", _FOLDER, dir_fd=root)
    gone = PurePosixPath()
    try:
        for part in PurePosixPath(path).parts:
            gone /= part
            inner = os.open(part, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
    except OSError as error:
        os.close(descriptor)
        raise Refused(f"the folder {shown(str(gone))} {_reason(error)}") from error
    return descriptor


def _content(descriptor: int) -> bytes:
    pieces: list[bytes] = []
    left = MOST_BYTES + 1
    while left > 0 and (piece := os.read(descriptor, min(1 << 20, left))):
        pieces.append(piece)
        left -= len(piece)
    if left <= 0:
        raise Refused(f"holds more than the {MOST_BYTES:,} bytes that are allowed")
    return b"".join(pieces)


def _reason(error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "is a symbolic link, or not what its path says; put the real one there"
    if error.errno == errno.ENOENT:
        return "does not exist"
    return f"cannot be opened: {error.strerror}"


def _id(status: os.stat_result) -> FileId:
    return status.st_dev, status.st_ino


def _version(status: os.stat_result) -> tuple[int, ...]:
    return status.st_size, status.st_mtime_ns, status.st_mode

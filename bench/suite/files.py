"""Reads files that people or agents wrote: bounded, never through a link, never one that changes meanwhile."""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Literal

from msgspec import Struct

from bench.errors import UserError
from bench.text import printable

LONGEST_PATH = 512

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a FIFO would wait for its other end.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PIECE = 1 << 20
_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ELOOP: "is a symbolic link; put the file itself there",
    errno.ENOTDIR: "leads through a symbolic link, or through something that is not a folder",
    errno.ENXIO: "is not a regular file",
}

EntryKind = Literal["file", "folder", "link", "special"]


class Refused(UserError):  # noqa: N818 - it is a verdict on a file, not a fault
    """A path or content that is not taken. Each problem is one line; whoever catches it says where it was named."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Entry(Struct, frozen=True):
    """One entry below a folder: its POSIX path from there, what it is, and what a digest keeps of its mode."""

    path: str
    kind: EntryKind
    executable: bool
    size: int


def shown(path: str | Path) -> str:
    """A path as messages show it: nothing in it can drive a terminal or start a line."""
    text = str(path).encode("utf-8", "backslashreplace").decode()
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def is_whole(text: str) -> bool:
    """False for text with half of a surrogate pair, which an escape can make and nothing can write as UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def check_path(path: str, longest: int = LONGEST_PATH) -> str:
    """`path` itself if it is relative, normalised and portable; else Refused. `longest` is in bytes of UTF-8."""
    problem = _path_problem(path, longest)
    if problem:
        raise Refused(problem)
    return path


def read_file(folder: Path, path: str, limit: int) -> bytes:
    """The bytes of a regular file below `folder`, without following a link on the way from there.

    Refused when it is missing, a link, special, larger than `limit` bytes or changes while it is read.
    """
    with _open_stable(folder, path, limit) as (descriptor, size):
        content = b"".join(_pieces(descriptor, limit))
        if len(content) != size:
            raise Refused("changed while it was read")
    return content


def read_text(folder: Path, path: str, limit: int) -> str:
    """Like `read_file`, as UTF-8 text; Refused when it is none."""
    return as_text(read_file(folder, path, limit))


def as_text(content: bytes) -> str:
    """`content` as UTF-8 text; Refused when it is none."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"is not UTF-8 text: byte {error.start} cannot be read") from error


def hash_file(folder: Path, path: str, limit: int) -> tuple[bytes, int]:
    """The SHA-256 and size of a file, read as `read_file` reads it but held in memory only piece by piece."""
    state = hashlib.sha256()
    seen = 0
    with _open_stable(folder, path, limit) as (descriptor, size):
        for piece in _pieces(descriptor, limit):
            state.update(piece)
            seen += len(piece)
        if seen != size:
            raise Refused("changed while it was read")
    return state.digest(), seen


def list_entries(folder: Path, most: int, without: Path | None = None) -> tuple[Entry, ...]:
    """Everything below `folder` in path order, links not followed; `without` is a folder that is passed over.

    Refused when there are more than `most` entries or one of them cannot be listed.
    """
    found: list[Entry] = []
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        for entry in _children(folder, inside):
            if without is not None and folder / entry.path == without:
                continue
            found.append(entry)
            if len(found) > most:
                raise Refused(f"holds more than {most:,} entries")
            if entry.kind == "folder":
                waiting.append(entry.path)
    return tuple(sorted(found, key=lambda entry: os.fsencode(entry.path)))


def _children(folder: Path, inside: str) -> list[Entry]:
    try:
        with os.scandir(folder / inside) as entries:
            return [_entry(f"{inside}/{entry.name}" if inside else entry.name, entry) for entry in entries]
    except OSError as error:
        raise Refused(f"{shown(inside or folder)} cannot be listed: {error.strerror}") from error


def _entry(path: str, entry: "os.DirEntry[str]") -> Entry:
    state = entry.stat(follow_symlinks=False)
    return Entry(path, _kind(state.st_mode), bool(state.st_mode & stat.S_IXUSR), state.st_size)


def _kind(mode: int) -> EntryKind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "special"


def _path_problem(path: str, longest: int) -> str | None:
    """What is wrong with a relative path, or None."""
    plain = str(PurePosixPath(path))
    rules = (
        (path in {"", "."}, "names no file"),
        (
            "\\" in path or shown(path) != path,
            "holds a backslash, a control character or a byte that is not UTF-8",
        ),
        (path.startswith("/"), "is absolute; it must be relative"),
        (".." in path.split("/"), "leaves its folder with `..`"),
        (path != plain, f"is not normalised; write it as `{plain}`"),
        (len(path.encode("utf-8", "surrogateescape")) > longest, f"is longer than {longest} bytes"),
    )
    return next((problem for broken, problem in rules if broken), None)


@contextmanager
def _open_stable(folder: Path, path: str, limit: int) -> Iterator[tuple[int, int]]:
    """A descriptor of a regular file and its size; Refused at the end when the file changed meanwhile."""
    descriptor = _open(folder, path)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise Refused("is not a regular file")
        if before.st_size > limit:
            raise Refused(f"holds {before.st_size:,} bytes, more than the {limit:,} that are allowed")
        yield descriptor, before.st_size
        if _state(os.fstat(descriptor)) != _state(before):
            raise Refused("changed while it was read")
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)


def _open(folder: Path, path: str) -> int:
    *parents, name = PurePosixPath(path).parts
    try:
        directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(_reason(error)) from error
    try:
        for parent in parents:
            inner = os.open(parent, _FOLDER, dir_fd=directory)
            os.close(directory)
            directory = inner
        return os.open(name, _FILE, dir_fd=directory)
    except OSError as error:
        raise Refused(_reason(error)) from error
    finally:
        os.close(directory)


def _reason(error: OSError) -> str:
    return _REASONS.get(error.errno or 0, f"cannot be opened: {error.strerror}")


def _pieces(descriptor: int, limit: int) -> Iterator[bytes]:
    """The file's bytes, at most one piece beyond `limit`: a file that grows does not fill the memory."""
    left = limit + 1
    while left > 0 and (piece := os.read(descriptor, min(_PIECE, left))):
        left -= len(piece)
        yield piece


def _state(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns

"""A file to which whole lines are appended, each on the disk before anything depends on it."""

import os
from collections.abc import Iterator
from pathlib import Path

from bench.durable import sync_folder
from bench.errors import RunError

_NEW_FILE = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC


class LineFile:
    """Lines that are only ever appended. There is one writer, which keeps the file open until `close`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def append(self, line: bytes, *, durable: bool = True) -> None:
        """Write one line and, if it is to be durable, wait until the disk has it. RunError leaves the file as it
        was before.
        """
        if self._descriptor is None:
            self._descriptor = self._open()
        size = os.fstat(self._descriptor).st_size
        left = memoryview(line + b"\n")
        try:
            while left:  # one write, unless the disk is full: the next one then says why
                left = left[os.write(self._descriptor, left) :]
            if durable:
                os.fsync(self._descriptor)
            if durable and size == 0:
                sync_folder(self.path.parent)
        except OSError as error:
            raise _cannot("write", self.path, error, _cut_back(self._descriptor, size)) from error

    def close(self) -> None:
        """Let go of the file; it is opened again when there is something to append."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        try:
            descriptor = os.open(self.path, _NEW_FILE, 0o600)
        except OSError as error:
            raise _cannot("open", self.path, error) from error
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            os.close(descriptor)
            raise RunError(f"{self.path} ends in a torn line: cut it off before anything is appended")
        return descriptor

    def __del__(self) -> None:
        self.close()


def complete_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers, one after the other; a torn one is none."""
    try:
        with path.open("rb") as file:
            yield from ((number, line) for number, line in enumerate(file, start=1) if line.endswith(b"\n"))
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error


def ends_torn(path: Path) -> bool:
    """Whether a crash left the last line unfinished."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        return size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"


def cut_torn_line(path: Path) -> int:
    """Cut off a torn last line; the number of bytes that went."""
    try:
        with path.open("rb+") as file:
            content = file.read()
            keep = content.rfind(b"\n") + 1
            file.truncate(keep)
            os.fsync(file.fileno())
    except OSError as error:
        raise _cannot("repair", path, error) from error
    return len(content) - keep


def _cut_back(descriptor: int, size: int) -> str:
    """Remove what was written in part; says so if that is impossible, too."""
    try:
        os.ftruncate(descriptor, size)
    except OSError as error:
        return f"; what was written in part could not be cut off ({error.strerror}) and stays as a torn line"
    return ""


def _cannot(do: str, path: Path, error: OSError, note: str = "") -> RunError:
    return RunError(
        f"cannot {do} {path}: {error.strerror}{note}\n"
        f"  every row before it is safe; free some space or fix the permissions, then go on with resume"
    )

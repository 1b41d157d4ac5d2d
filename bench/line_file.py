"""A file to which whole lines are appended, each on the disk before anything depends on it."""

import os
from collections.abc import Iterator
from pathlib import Path

from bench.errors import RunError

_NEW_FILE = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC


class LineFile:
    """Lines that are only ever appended. There is one writer."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, line: bytes, *, durable: bool = True) -> None:
        """Write one line and, if it is to be durable, wait until the disk has it. RunError leaves the file as it
        was before.
        """
        try:
            descriptor = os.open(self.path, _NEW_FILE, 0o600)
        except OSError as error:
            raise _cannot("open", self.path, error) from error
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                raise RunError(f"{self.path} ends in a torn line: cut it off before anything is appended")
            self._write(descriptor, line + b"\n", size, durable=durable)
        finally:
            os.close(descriptor)

    def _write(self, descriptor: int, line: bytes, size: int, *, durable: bool) -> None:
        left = memoryview(line)
        try:
            while left:  # one write, unless the disk is full: the next one then says why
                left = left[os.write(descriptor, left) :]
            if durable:
                os.fsync(descriptor)
            if durable and size == 0:
                sync_folder(self.path.parent)
        except OSError as error:
            raise _cannot("write", self.path, error, _cut_back(descriptor, size)) from error


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


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the folder's own entries: a new file's name is one of them."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
        f"  every row before it is safe; free some space or fix the permissions, then go on with evolve resume"
    )

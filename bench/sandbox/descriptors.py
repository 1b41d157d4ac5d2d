"""Descriptors that are handed to one child process."""

import os
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Self

from bench.errors import SandboxError


class Descriptors:
    """Descriptors for one child, closed here once it has them, and all of them in the end."""

    def __init__(self) -> None:
        self._handed: list[int] = []
        self._kept: list[int] = []

    @property
    def handed(self) -> tuple[int, ...]:
        """Those that the child gets, under these numbers."""
        return tuple(self._handed)

    def content(self, data: bytes) -> int:
        """A descriptor from which the child reads `data`."""
        handle = os.memfd_create("data")
        self._handed.append(handle)
        with open(handle, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(handle, 0, os.SEEK_SET)
        return handle

    def from_child(self) -> tuple[int, int]:
        """A pipe: our end for reading, the child's for writing."""
        read, write = os.pipe()
        self._kept.append(read)
        self._handed.append(write)
        return read, write

    def to_child(self) -> tuple[int, int]:
        """A pipe: our end for writing, the child's for reading."""
        read, write = os.pipe()
        self._kept.append(write)
        self._handed.append(read)
        return write, read

    def send(self, handle: int, data: bytes) -> None:
        """Write all of `data` to our end of a pipe and close it; the child may be gone already."""
        self._kept.remove(handle)
        with suppress(BrokenPipeError), open(handle, "wb") as pipe:
            pipe.write(data)

    def release(self) -> None:
        """Close what the child has by now, so that the end of a pipe is seen."""
        while self._handed:
            os.close(self._handed.pop())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
        while self._kept:
            os.close(self._kept.pop())


def zero_ended(parts: Iterable[str]) -> bytes:
    """Strings as a child reads them that splits at zero bytes. SandboxError if one could be taken for several."""
    listed = tuple(parts)
    text = "\0".join((*listed, ""))
    if text.count("\0") != len(listed):
        raise SandboxError(
            "an argument, a path or an environment variable of the command contains a zero byte"
        )
    return os.fsencode(text)

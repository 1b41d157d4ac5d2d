"""Archives as one long tape: plain tar headers, nothing but regular files, gzip around it.

Python's own reader follows headers of any size and kind; this one knows a single kind, and reads no more than it
was told to expect.
"""

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from typing import IO

from bench.errors import RunError

BLOCK = 512
PIECE = 1024 * 1024
MOST_PADDING = 64 * 1024  # zeros after the last file


class TapeWriter:
    """Writes members whose bytes depend on nothing but names and contents."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0)

    def add(self, name: str, size: int, pieces: Iterator[bytes]) -> None:
        """Append a file. RunError if its name is too long for a header, or its content is not of that size."""
        info = tarfile.TarInfo(name)
        info.size, info.mode = size, 0o644
        try:
            self._out.write(info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict"))
        except ValueError as error:
            raise RunError(f"{name} cannot be put into an archive: {error}") from error
        written = 0
        for piece in pieces:
            written += len(piece)
            self._out.write(piece)
        if written != size:
            raise RunError(f"{name} changed while it was exported\n  try again")
        self._out.write(bytes(-size % BLOCK))

    def close(self) -> None:
        """End the tape; the file below stays open."""
        self._out.write(bytes(2 * BLOCK))
        self._out.close()


class TapeReader:
    """Reads members in their order. RunError says what is wrong with `name`, the archive."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._in = gzip.GzipFile(fileobj=file, mode="rb")
        self._name = name
        self._pad = 0

    def next(self) -> tuple[str, int] | None:
        """Name and size of the next file, whose content must be read before the one after it; None at the end."""
        self._exactly(self._pad)
        header = self._exactly(BLOCK)
        if not header.strip(b"\0"):
            self._end()
            return None
        try:
            info = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
        except (tarfile.HeaderError, UnicodeDecodeError) as error:
            raise self._refused(f"a header is damaged ({error})") from error
        if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.name.endswith("/") or info.size < 0:
            raise self._refused(f"{info.name!r} is no regular file")
        self._pad = -info.size % BLOCK
        return info.name, info.size

    def content(self, size: int) -> Iterator[bytes]:
        """The content of the file whose header was read."""
        while size > 0:
            piece = self._exactly(min(size, PIECE))
            size -= len(piece)
            yield piece

    def _end(self) -> None:
        """Nothing but zeros may follow; reading them to their end checks the sum of the compressed file."""
        rest = self._up_to(MOST_PADDING)
        if rest.strip(b"\0") or self._up_to(1):
            raise self._refused("something follows after its end")

    def _exactly(self, size: int) -> bytes:
        content = self._up_to(size)
        if len(content) != size:
            raise self._refused("it ends too early")
        return content

    def _up_to(self, size: int) -> bytes:
        try:
            return self._in.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise self._refused(f"it cannot be read ({error})") from error

    def _refused(self, why: str) -> RunError:
        return RunError(f"{self._name} is refused: {why}\n  export the run again, or copy the file again")

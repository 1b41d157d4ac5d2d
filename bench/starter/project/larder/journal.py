"""An append-only file of JSON lines that survives a crash in the middle of a write."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from larder.errors import ParseError

logger = logging.getLogger(__name__)

Record = dict[str, object]


class Journal:
    """Records in the order in which they were appended."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def path(self) -> Path:
        return self._path

    def append(self, record: Mapping[str, object]) -> None:
        """Write one record and wait until it is on the disk."""
        line = encode(record)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._mend()
        with self._path.open("ab") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())

    def __iter__(self) -> Iterator[Record]:
        """All whole records; an unfinished last line is left out."""
        if not self._path.exists():
            return
        with self._path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.endswith(b"\n"):
                    logger.warning("%s ends in the middle of line %d", self._path, number)
                    return
                yield decode(line, number)

    def last(self) -> Record | None:
        """The newest record, or None when there is none."""
        newest: Record | None = None
        for record in self:
            newest = record
        return newest

    def compact(self, keep: Callable[[Record], bool]) -> int:
        """Rewrite the file with the records to keep; returns how many were dropped."""
        temporary = self._path.with_suffix(self._path.suffix + ".new")
        dropped = 0
        with temporary.open("wb") as stream:
            for record in self:
                if keep(record):
                    stream.write(encode(record))
                else:
                    dropped += 1
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(self._path)
        return dropped

    def _mend(self) -> None:
        """Cut off what a crash left behind the last whole line."""
        if not self._path.exists() or self._whole():
            return
        content = self._path.read_bytes()
        kept = content.rfind(b"\n") + 1
        logger.warning("cutting %d unfinished bytes off %s", len(content) - kept, self._path)
        os.truncate(self._path, kept)

    def _whole(self) -> bool:
        with self._path.open("rb") as stream:
            if stream.seek(0, os.SEEK_END) == 0:
                return True
            stream.seek(-1, os.SEEK_END)
            return stream.read(1) == b"\n"


def encode(record: Mapping[str, object]) -> bytes:
    """One line of canonical JSON."""
    text = json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8") + b"\n"


def decode(line: bytes, number: int) -> Record:
    """The record of one line; anything but a JSON object is refused."""
    try:
        record = json.loads(line)
    except ValueError as error:
        raise ParseError("not JSON", number) from error
    if not isinstance(record, dict):
        raise ParseError("not a JSON object", number)
    return record

"""`results.jsonl`: rows appended one by one, each on the disk before anything is computed from it."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import asdict, replace

from bench.digest import canonical_json
from bench.durable import sync_folder
from bench.errors import RunError
from bench.results.row import SCHEMA_VERSION, Row

_NEW_FILE = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC

Part = TypeVar("Part")
Attempt = tuple[int, str, str, int, int]


class RowFile:
    """The rows of one sweep. There is one writer."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, row: Row) -> None:
        """Write one row and wait until the disk has it. RunError leaves the file as it was before."""
        line = canonical_json(row) + b"\n"
        try:
            descriptor = os.open(self.path, _NEW_FILE, 0o600)
        except OSError as error:
            raise _cannot("open", self.path, error) from error
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                raise RunError(f"{self.path} ends in a torn line: cut it off before anything is appended")
            self._write(descriptor, line, size)
        finally:
            os.close(descriptor)

    def _write(self, descriptor: int, line: bytes, size: int) -> None:
        left = memoryview(line)
        try:
            while left:  # one write, unless the disk is full: the next one then says why
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
            if size == 0:
                sync_folder(self.path.parent)
        except OSError as error:
            raise _cannot("write", self.path, error, _cut_back(descriptor, size)) from error


def read_rows(path: Path) -> tuple[tuple[Row, ...], bool]:
    """The rows in the order of the file, and whether it ends in a torn line (a crash while writing).

    A repeated identical row counts once. RunError, naming the line, for anything else that is not a row, for
    another schema version, for two different rows of one attempt, for a measured cell that was rolled again.
    """
    shared = _Shared()
    numbered = ((number, shared.row(_read_row(path, number, line))) for number, line in _complete_lines(path))
    return _without_repeats(path, numbered), _ends_torn(path)


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


class _Shared:
    """Gives rows one object for all their parts that are equal: most of a row is what its neighbours say, too."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def row(self, row: Row) -> Row:
        """An equal row that shares what it can with those before it."""
        names = {name: self._one(text) for name, text in asdict(row.identity).items() if type(text) is str}
        return replace(
            row,
            identity=replace(row.identity, **names),
            provenance=self._one(row.provenance),
            outcome=self._one(row.outcome),
            score=self._one(row.score),
            usage=self._one(row.usage),
            sessions={self._one(name): self._one(usage) for name, usage in row.sessions.items()},
            change=self._one(row.change),
            artifacts={self._one(name): self._one(kept) for name, kept in row.artifacts.items()},
        )

    def _one(self, part: Part) -> Part:
        one: Part = self._known.setdefault(part, part)
        return one


class _Version(msgspec.Struct):
    schema_version: int


def _complete_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers, one after the other; a torn one is none."""
    try:
        with path.open("rb") as file:
            yield from ((number, line) for number, line in enumerate(file, start=1) if line.endswith(b"\n"))
    except OSError as error:
        raise RunError(f"the rows cannot be read from {path}: {error.strerror}") from error


def _ends_torn(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        return size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"


def _read_row(path: Path, number: int, line: bytes) -> Row:
    try:
        version = msgspec.json.decode(line, type=_Version).schema_version
        if version != SCHEMA_VERSION:
            raise RunError(
                f"{path}, line {number}: schema_version {version} is not supported, only {SCHEMA_VERSION} is\n"
                f"  read it with the version of incumbent that wrote it"
            )
        return msgspec.json.decode(line, type=Row)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunError(
            f"{path}, line {number} is not a row: {error}\n"
            f"  rows are only ever appended: the file was edited or damaged; restore it from a copy"
        ) from error


def _without_repeats(path: Path, numbered: Iterable[tuple[int, Row]]) -> tuple[Row, ...]:
    first: dict[Attempt, tuple[int, Row]] = {}
    settled: dict[tuple[int, str, str, int], int] = {}
    for number, row in numbered:
        cell = (row.identity.generation, *row.key)
        attempt = (*cell, row.identity.attempt)
        earlier, known = first.setdefault(attempt, (number, row))
        if known != row:
            raise RunError(
                f"{path}: lines {earlier} and {number} are different rows of attempt {row.identity.attempt} of "
                f"{_named(row)}\n  which one is true cannot be told; restore the file from a copy"
            )
        if cell in settled and settled[cell] != earlier:
            raise RunError(
                f"{path}, line {number}: {_named(row)} was run again after line {settled[cell]} had measured it\n"
                f"  a measured cell is never rolled again; restore the file from a copy"
            )
        if row.outcome.status == "measured":
            settled[cell] = earlier
    return tuple(row for _, row in first.values())


def _named(row: Row) -> str:
    task, arm, repeat = row.key
    return f"task {task}, arm {arm}, repeat {repeat}"


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
        f"  every row before it is safe; free some space or fix the permissions, then start a new run"
    )

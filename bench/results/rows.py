"""`results.jsonl`: rows appended one by one, each on the disk before anything is computed from it."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import asdict, replace

from bench.digest import canonical_json
from bench.errors import RunError
from bench.line_file import LineFile, complete_lines, ends_torn
from bench.results.row import SCHEMA_VERSION, Row

Part = TypeVar("Part")
Attempt = tuple[int, str, str, int, int]


class RowFile:
    """The rows of one sweep. There is one writer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = LineFile(path)

    def append(self, row: Row) -> None:
        """Write one row and wait until the disk has it. RunError leaves the file as it was before."""
        self._lines.append(canonical_json(row))

    def close(self) -> None:
        """Let go of the file."""
        self._lines.close()


def read_rows(path: Path) -> tuple[tuple[Row, ...], bool]:
    """The rows in the order of the file, and whether it ends in a torn line (a crash while writing).

    A repeated identical row counts once. RunError, naming the line, for anything else that is not a row, for
    another schema version, for two different rows of one attempt, for a measured cell that was rolled again.
    """
    return _without_repeats(path, _numbered(path)), ends_torn(path)


def read_every_row(path: Path) -> tuple[tuple[Row, ...], bool]:
    """As `read_rows`, but every row as it stands there, repeated and contradicting ones as well."""
    return tuple(row for _, row in _numbered(path)), ends_torn(path)


def _numbered(path: Path) -> Iterator[tuple[int, Row]]:
    shared = _Shared()
    return ((number, shared.row(_read_row(path, number, line))) for number, line in complete_lines(path))


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


def _read_row(path: Path, number: int, line: bytes) -> Row:
    try:
        version = msgspec.json.decode(line, type=_Version).schema_version
        if not 1 <= version <= SCHEMA_VERSION:
            raise RunError(
                f"{path}, line {number}: schema_version {version} is not supported, only 1 to {SCHEMA_VERSION}\n"
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
        if row.outcome.status == "measured" and row.reuse is None:  # an earlier row is measured once more
            settled[cell] = earlier
    return tuple(row for _, row in first.values())


def _named(row: Row) -> str:
    task, arm, repeat = row.key
    return f"task {task}, arm {arm}, repeat {repeat}"

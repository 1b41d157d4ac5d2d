"""What a project still knows of runs that were removed: lines that are only ever added, beside the runs."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from bench.digest import canonical_json, digest_json
from bench.errors import RunError
from bench.line_file import LineFile, complete_lines, cut_torn_line
from bench.project.runs import RUNS, list_runs

REMEMBERED_VERSION = 1
Kind = TypeVar("Kind")


class Remembered(Struct, frozen=True, kw_only=True):
    """One line: a run that was removed, and what it knew; `digest` is that of the run and the value."""

    schema_version: int
    run: str
    digest: str
    value: Any


def remember(root: Path, name: str, run: str, value: Struct) -> None:
    """Add what a run knows to `runs/NAME.jsonl`, before the run is removed."""
    path = root / RUNS / f"{name}.jsonl"
    plain = msgspec.to_builtins(value)
    line = Remembered(
        schema_version=REMEMBERED_VERSION, run=run, digest=digest_json([run, plain]), value=plain
    )
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise RunError(f"{path} cannot be opened: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        cut_torn_line(path)
        with closing(LineFile(path)) as file:
            file.append(canonical_json(line))
    finally:
        os.close(descriptor)


def recall(root: Path, name: str, kind: type[Kind]) -> Iterator[tuple[str, Kind]]:
    """What removed runs knew, with their names. A run that is still there speaks for itself. RunError names a line that
    is not what was written.
    """
    path = root / RUNS / f"{name}.jsonl"
    if not path.exists() and not path.is_symlink():
        return
    there = {run.id for run in list_runs(root)}
    seen: set[str] = set()
    for number, content in complete_lines(path):
        line = _decoded(path, number, content)
        if line.run in there or line.digest in seen:
            continue
        seen.add(line.digest)
        try:
            yield line.run, msgspec.convert(line.value, kind)
        except msgspec.ValidationError as error:
            raise _damaged(path, number, str(error)) from error


def _decoded(path: Path, number: int, content: bytes) -> Remembered:
    try:
        line = msgspec.json.decode(content, type=Remembered)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _damaged(path, number, str(error)) from error
    if line.schema_version != REMEMBERED_VERSION:
        raise _damaged(path, number, f"schema_version {line.schema_version} is not supported, only 1 is")
    if line.digest != digest_json([line.run, line.value]):
        raise _damaged(path, number, "it is not what its digest says")
    return line


def _damaged(path: Path, number: int, why: str) -> RunError:
    return RunError(
        f"{path}, line {number} cannot be read: {why}\n"
        "  it says what removed runs knew; restore the file from a copy"
    )

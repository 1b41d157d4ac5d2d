"""What of the object store a run needs, and what it so much as mentions."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.archive.facts import read_facts, row_files
from bench.errors import RunError
from bench.line_file import complete_lines
from bench.project import RunFolder
from bench.results import Artifact
from bench.text import printable

_MENTIONED = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_APPLIED = "applied.jsonl"


class _File(Struct, frozen=True):
    before: str
    after: str


class _Applied(Struct, frozen=True):
    files: tuple[_File, ...]


def artifacts_of(run: RunFolder) -> set[Artifact]:
    """Every artifact that a row of the run names. RunError if a row cannot be read."""
    return {
        artifact
        for path in row_files(run.path)
        for facts in read_facts(path)
        for artifact in facts.artifacts.values()
    }


def kept_bytes_of(run: RunFolder) -> set[str]:
    """The digests of the bytes that taking the run's promotion back needs."""
    path = run.path / _APPLIED
    if not path.exists():
        return set()
    try:
        records = [msgspec.json.decode(line, type=_Applied) for _, line in complete_lines(path)]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path} is not a record of applies: {error}\n  restore it from a copy") from error
    return {digest for record in records for file in record.files for digest in (file.before, file.after)}


def mentioned_by(run: RunFolder) -> set[str]:
    """Everything in the run's files that could be a digest, whatever it means there. RunError if one is unreadable."""
    return {digest for path in files_of(run.path, strict=False) for digest in mentioned_in(path)}


def mentioned_in(path: Path) -> Iterator[str]:
    """Everything in a file that could be a digest."""
    try:
        with path.open("rb") as file:
            for line in file:
                yield from (found.group().decode() for found in _MENTIONED.finditer(line))
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error


def files_of(folder: Path, *, strict: bool = True) -> tuple[Path, ...]:
    """The regular files below a folder, in the order of their paths; links are not followed.

    RunError if it cannot be read, and, if `strict`, for anything that is neither file nor folder.
    """
    found: list[Path] = []
    try:
        for place, folders, names in os.walk(folder, onerror=_raise):
            found += [Path(place) / name for name in names]
            found += [Path(place) / name for name in folders if (Path(place) / name).is_symlink()]
        regular = [path for path in found if stat.S_ISREG(path.lstat().st_mode)]
    except OSError as error:
        raise RunError(f"{folder} cannot be read: {error}") from error
    odd = sorted(set(found) - set(regular))
    if strict and odd:
        raise RunError(
            f"{printable(str(odd[0]))} is no regular file: a run holds none such\n  remove it, then try again"
        )
    return tuple(sorted(regular))


def _raise(error: OSError) -> None:
    raise error

"""What changes, for people: unified diffs and counts of lines."""

import difflib
import re
from collections.abc import Iterator, Sequence

from bench.digest import digest_bytes
from evolve.apply.model import Change, FileSummary

_LINE_ENDS = re.compile(r"(?<=\n)")


def unified(changes: Sequence[Change]) -> str:
    """One unified diff of all changes, as `git apply` reads it."""
    return "".join(line for change in changes for line in _diff(change))


def summarise(changes: Sequence[Change]) -> tuple[FileSummary, ...]:
    """Each change with digests and counts."""
    return tuple(_summary(change) for change in changes)


def _summary(change: Change) -> FileSummary:
    body = list(_diff(change))[2:]
    return FileSummary(
        path=change.path,
        before=digest_bytes(change.before),
        after=digest_bytes(change.after),
        insertions=sum(line.startswith("+") for line in body),
        deletions=sum(line.startswith("-") for line in body),
    )


def _diff(change: Change) -> Iterator[str]:
    before, after = _lines(change.before), _lines(change.after)
    for line in difflib.unified_diff(before, after, f"a/{change.path}", f"b/{change.path}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(content: bytes) -> list[str]:
    return [line for line in _LINE_ENDS.split(content.decode("utf-8", "backslashreplace")) if line]

"""A commit, and the task that is made of it, as data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.scoring import is_test

PROSE = (".md", ".rst", ".txt", ".adoc")


class Asked(Struct, frozen=True, kw_only=True):
    """What a person asked for: the repository's top folder, the commit, the suite and the task's id (null: from the
    commit), the bytes of pinned requirements, and whether they vouch for its one purpose.
    """

    repository: Path
    sha: str
    suite: str
    task: str | None = None
    requirements: bytes | None = None
    one_purpose: bool = False


class Commit(Struct, frozen=True, kw_only=True):
    """What a commit says and changes: each changed path with git's letter for how."""

    sha: str
    parents: tuple[str, ...]
    subject: str
    body: str
    changed: tuple[tuple[str, str], ...]
    base_files: frozenset[str]

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests that it adds or changes."""
        return tuple(path for how, path in self.changed if is_test(path) and how != "D")

    @property
    def code(self) -> tuple[str, ...]:
        """What else it changes, but prose."""
        return tuple(
            path for _, path in self.changed if not is_test(path) and not path.lower().endswith(PROSE)
        )


class NewTask(Struct, frozen=True, kw_only=True):
    """A proposed task: its entry in the suite file but its source's repository, and its files by their paths below
    the suite's folder; `repaired` are the hidden tests that fail without the change.
    """

    task: str
    commit: str
    entry: Mapping[str, Any]
    files: Mapping[str, bytes]
    repaired: tuple[str, ...]

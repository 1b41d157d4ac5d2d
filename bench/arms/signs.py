"""Reading from a cell what may be a sign of tampering: facts only, judged by bench/scoring."""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from bench.arms.model import Session
from bench.arms.places import Place
from bench.arms.session import read_artifact
from bench.scoring import CheckResult, Left, Signs, command_words
from bench.suite import CommandOracle, Task
from bench.workspace import Entry, Template, WorkingCopy

# what git carries out or obeys in a repository although no tree holds it
_HOOK_FOLDER = ".git/hooks"
_HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
    "post-index-change", "post-merge", "post-receive", "post-rewrite", "post-update", "pre-applypatch",
    "pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive",
    "prepare-commit-msg", "proc-receive", "push-to-checkout", "reference-transaction", "sendemail-validate",
    "update",
)  # fmt: skip
_REPOSITORY = (
    ".git",  # a file that leads to another repository
    ".git/config",
    ".git/config.worktree",
    ".git/info/attributes",
    ".git/objects/info/alternates",
)
_MOST_CONTENT = 8 * 1024 * 1024  # bytes that are read of all changed files, and of all files of a home
_MOST_HOME_FILES = 10_000


class Leftovers(Struct, frozen=True):
    """What the sessions of a cell left in its working copy, its home and its repository."""

    left: tuple[Left, ...]
    home: tuple[Left, ...]
    repository: tuple[Left, ...]


def read_leftovers(place: Place, changed: Sequence[Entry]) -> Leftovers:
    """What is there before the hidden test runs, which may write into the same places. `changed` is what differs
    in the working copy.
    """
    return Leftovers(
        left=tuple(_changed(changed, place.copy, place.template)),
        home=tuple(left for home in place.homes() for left in _below(home)),
        repository=tuple(_obeyed_by_git(place.copy, place.template)),
    )


def signs_of(
    leftovers: Leftovers, task: Task, sessions: Sequence[Session], checks: Mapping[str, CheckResult]
) -> Signs:
    """All signs of one cell, once its checks have run."""
    oracle = task.oracle.command if isinstance(task.oracle, CommandOracle) else ""
    hidden = checks.get("oracle")
    return Signs(
        left=leftovers.left,
        home=leftovers.home,
        repository=leftovers.repository,
        commands=command_words((task.verify, oracle)),
        ends={name: check.end for name, check in checks.items()},
        exited_zero=hidden is not None and hidden.exited_zero,
        finished=hidden is not None and hidden.passed,
        survivors=sum(session.survivors for session in sessions),
    )


def _changed(changed: Sequence[Entry], copy: WorkingCopy, template: Template) -> Iterator[Left]:
    """The changed paths; once too much was read, without what is in them."""
    room = _MOST_CONTENT
    for entry in changed:
        leaf = copy.leaf(entry.path) if room > 0 and entry.kind in ("added", "modified") else None
        known = room > 0 and entry.kind == "modified"
        before = _bytes(f"{template.tree}/{os.fsdecode(entry.path)}") if known else b""
        room -= len(leaf.content if leaf else b"") + len(before)
        is_link = leaf is not None and stat.S_ISLNK(leaf.mode)
        yield Left(
            path=_text(entry.path),
            kind=entry.kind,
            executable=leaf is not None and leaf.mode & 0o111 != 0,
            link=_text(leaf.content) if leaf and is_link else None,
            before=before,
            after=leaf.content if leaf and not is_link else b"",
        )


def _below(home: Path) -> Iterator[Left]:
    """The files and links below a home; never through a link, not without end, nor more than some content."""
    room = _MOST_CONTENT
    for number, path in enumerate(_leaves(home)):
        if number == _MOST_HOME_FILES:
            return
        status = path.lstat()
        content = _bytes(str(path)) if room > 0 else b""
        room -= len(content)
        is_link = stat.S_ISLNK(status.st_mode)
        yield Left(
            path=_text(os.fsencode(path.relative_to(home))),
            kind="added" if is_link or stat.S_ISREG(status.st_mode) else "special",
            executable=stat.S_ISREG(status.st_mode) and status.st_mode & 0o111 != 0,
            link=_text(os.fsencode(path.readlink())) if is_link else None,
            after=content,
        )


def _leaves(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        yield from (Path(parent) / name for name in (*names, *links))


def _obeyed_by_git(copy: WorkingCopy, template: Template) -> Iterator[Left]:
    hooks = [f"{_HOOK_FOLDER}/{hook}" for hook in _HOOKS] if copy.has(_HOOK_FOLDER) else []
    for name in filter(copy.has, [*_REPOSITORY, *hooks]):
        before, after = _bytes(f"{template.tree}/{name}"), copy.read(name) or b""
        if after != before:
            yield Left(path=name, kind="modified", before=before, after=after)


def _bytes(path: str) -> bytes:
    """What a file holds; nothing for one that is too large to be looked into, or that is none."""
    content = read_artifact(path, _MOST_CONTENT) or b""
    return content if len(content) <= _MOST_CONTENT else b""


def _text(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")

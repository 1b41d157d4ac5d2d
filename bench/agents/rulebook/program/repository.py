"""The files of the workspace, and what of them is an uncommitted change, as git sees it."""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from .contract import Session, SessionProblem
from .text import cause_of, native

_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.excludesFile=/dev/null",
    "core.attributesFile=/dev/null",
    "diff.autoRefreshIndex=false",  # else `git diff` writes the index; a file that is only newer has no hunks
    "safe.directory=*",
)
_GIT = (
    "/usr/bin/git",
    "--no-optional-locks",
    "--no-pager",
    *(part for setting in _SETTINGS for part in ("-c", setting)),
)
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
# Every setting is stated that a repository's own configuration could change.
_DIFF = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-relative")
_NAMES = (*_DIFF, "--ignore-submodules=all", "--name-status", "-z")
_HUNKS = (
    *_DIFF,
    "--text",
    "--unified=0",
    "--inter-hunk-context=0",
    "--diff-algorithm=myers",
    "--indent-heuristic",
)
_ADDED_LINES = re.compile(rb"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def changed_lines(workspace: Path) -> dict[bytes, list[range] | None]:
    """The added and changed lines of every file that differs from HEAD; None stands for all its lines."""
    _git(workspace, "rev-parse", "--git-dir")  # says so where there is no repository
    head = _git(workspace, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False).decode().strip()
    base = head or _git(workspace, "hash-object", "-t", "tree", "--stdin").decode().strip()
    fields = _git(workspace, *_NAMES, base, "--").split(b"\0")
    changed: dict[bytes, list[range] | None] = {}
    for status, path in zip(fields[::2], fields[1::2], strict=False):
        changed[path] = _added_lines(workspace, base, path) if status == b"M" else None
    untracked = _git(workspace, "ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
    return changed | dict.fromkeys(filter(None, untracked))


def all_files(workspace: Path) -> set[bytes]:
    """The tracked files, and the untracked ones that git does not ignore."""
    listed = _git(workspace, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return set(filter(None, listed.split(b"\0")))


def searchable(session: Session, paths: Iterable[bytes]) -> list[bytes]:
    """The regular files among `paths`, in order, without what lies behind a link or belongs to a skill or tool."""
    root = session.workspace.resolve()
    own = [skill.folder.resolve() for skill in session.skills]
    own += [tool.folder.resolve() for tool in session.tools]

    def is_searchable(path: bytes) -> bool:
        file = root / native(path)
        return (
            file.is_file()
            and file.resolve() == file
            and not any(file.is_relative_to(folder) for folder in own)
        )

    return sorted(filter(is_searchable, paths))


def _added_lines(workspace: Path, base: str, path: bytes) -> list[range]:
    patch = _git(workspace, *_HUNKS, base, "--", path)
    hunks = ((int(hunk[1]), int(hunk[2] or 1)) for hunk in _ADDED_LINES.finditer(patch))
    return [range(start, start + length) for start, length in hunks if length]


def _git(workspace: Path, *arguments: str | bytes, check: bool = True) -> bytes:
    """What git prints. Of the programs that a repository can configure, only a clean filter may run."""
    done = subprocess.run(
        [*_GIT, *arguments],
        cwd=workspace,
        env=_ENVIRONMENT | {"GIT_CEILING_DIRECTORIES": str(workspace.resolve().parent)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if check and done.returncode:
        raise SessionProblem(f"git {arguments[0]!s} failed in the workspace: {cause_of(done.stderr)}")
    return done.stdout

"""Reads a commit with git, without anything that a repository or a user configured taking part."""

import os
import subprocess
from pathlib import Path

from bench.errors import SuiteError
from bench.newtask.model import Commit
from bench.suite import Refused, resolve_commit

_OPTIONS = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
_DIFF = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--full-index")
_PATIENCE = 120.0


def read_commit(repository: Path, ref: str) -> Commit:
    """The commit that `ref` names in the repository at exactly this folder. SuiteError if there is none."""
    try:
        sha = resolve_commit(repository, ref)
    except Refused as refusal:
        raise SuiteError(str(refusal)) from refusal
    parents = tuple(_git(repository, "rev-list", "--parents", "-n", "1", sha).split()[1:])
    subject, _, body = _git(repository, "log", "-1", "--format=%s%n%b", sha).partition("\n")
    changed: tuple[tuple[str, str], ...] = ()
    base: frozenset[str] = frozenset()
    if len(parents) == 1:
        words = _git(repository, "diff", *_DIFF, "--name-status", "-z", parents[0], sha).split("\0")
        changed = tuple(zip(words[0::2], words[1::2], strict=False))
        base = frozenset(_git(repository, "ls-tree", "-r", "-z", "--name-only", parents[0]).split("\0")) - {
            ""
        }
    return Commit(
        sha=sha, parents=parents, subject=subject, body=body.strip(), changed=changed, base_files=base
    )


def recent_commits(repository: Path, most: int) -> tuple[str, ...]:
    """The newest commits of the branch that is checked out, newest first. SuiteError if there is none."""
    try:
        head = resolve_commit(repository, "HEAD")
    except Refused as refusal:
        raise SuiteError(str(refusal)) from refusal
    return tuple(_git(repository, "rev-list", f"--max-count={most}", head).split())


def tracked_files(repository: Path, sha: str) -> tuple[str, ...]:
    """The paths of all files of a commit."""
    return tuple(_git(repository, "ls-tree", "-r", "-z", "--name-only", sha).split("\0")[:-1])


def read_patch(repository: Path, commit: Commit, paths: tuple[str, ...]) -> bytes:
    """What the commit changes in these paths, as a git patch."""
    command = ("diff", *_DIFF, "--binary", commit.parents[0], commit.sha, "--", *paths)
    return _run(repository, "--literal-pathspecs", *command)


def read_blob(repository: Path, sha: str, path: str) -> bytes:
    """The bytes of a file in a commit."""
    return _run(repository, "cat-file", "blob", f"{sha}:{path}")


def _git(repository: Path, *arguments: str) -> str:
    return _run(repository, *arguments).decode("utf-8", "replace")


def _run(repository: Path, *arguments: str) -> bytes:
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    try:
        return subprocess.run(
            ["git", *_OPTIONS, *arguments],
            cwd=repository,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=_PATIENCE,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or b""
        raise SuiteError(
            f"git {arguments[0]} failed in {repository}: {said.decode(errors='replace').strip() or error}"
        ) from error

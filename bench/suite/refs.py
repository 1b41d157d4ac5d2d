"""Resolves a git ref to its commit, without anything that a repository or a user configured taking part."""

import os
import subprocess
from pathlib import Path

from bench.suite.files import Refused, shown
from bench.text import did_you_mean

_PATIENCE = 120.0  # seconds; a sick file system must not hang the start of a run
_OPTIONS = (
    *("-c", "safe.directory=*"),
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
)


def resolve_commit(repository: Path, ref: str) -> str:
    """The full id of the commit that `ref` names now in the git repository at exactly this folder.

    Refused: no such folder, no repository, nothing committed, an unknown ref, a ref that names no commit.
    """
    if not repository.is_dir():
        raise Refused(f"the repository {shown(repository)} is not a folder that exists")
    if ref.startswith("-"):
        raise Refused(f"`{ref}` is no ref: it begins with `-`")
    commit = _ask(repository, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    if commit is None:
        raise Refused(_why(repository, ref))
    return commit


def _why(repository: Path, ref: str) -> str:
    """Why a ref could not be resolved."""
    place = shown(repository)
    if _ask(repository, "rev-parse", "--git-dir") is None:
        return f"{place} is not the top folder of a git repository; run `git init` there, or use `tree`"
    refs = (_ask(repository, "for-each-ref", "--format=%(refname:short)") or "").splitlines()
    branch = _ask(repository, "symbolic-ref", "--quiet", "--short", "HEAD")
    if ref in ("HEAD", branch) and _commit_of_head(repository) is None:
        return f"branch `{branch}` of {place} has no commit yet; commit its files first"
    kind = _ask(repository, "cat-file", "-t", ref)
    if kind is not None and kind != "commit":
        return f"`{ref}` in {place} names a {kind}, not a commit"
    return f"{place} has no branch, tag or commit `{ref}`{did_you_mean(ref, refs)}"


def _commit_of_head(repository: Path) -> str | None:
    return _ask(repository, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")


def _ask(repository: Path, *arguments: str) -> str | None:
    """What git answers on one line or more, or None when it says no."""
    try:
        done = subprocess.run(
            ["git", *_OPTIONS, *arguments],
            cwd=repository,
            env=_environment(repository),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except FileNotFoundError as error:
        raise Refused("git is not installed, or not on PATH; install it") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused(f"git could not be asked about {shown(repository)}: {error}") from error
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None


def _environment(repository: Path) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        # A repository around the folder is another repository.
        "GIT_CEILING_DIRECTORIES": str(repository.parent),
    }

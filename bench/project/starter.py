"""The embedded starter project, unpacked once as a git repository of its own."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import bench
from bench.errors import ConfigError

STARTER_TAG = "starter-base"
_DATE = "2026-01-01T00:00:00Z"
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "starter",
    "GIT_AUTHOR_EMAIL": "starter@localhost",
    "GIT_COMMITTER_NAME": "starter",
    "GIT_COMMITTER_EMAIL": "starter@localhost",
    "GIT_AUTHOR_DATE": _DATE,
    "GIT_COMMITTER_DATE": _DATE,
    "GIT_DEFAULT_HASH": "sha1",
}
_CACHES = shutil.ignore_patterns("__pycache__", ".*_cache")  # of programs that were run in a source tree


def unpack_starter(parent: Path) -> Path:
    """`parent`/runs/starter, made if it is not there yet: whole or not at all, with the same commit everywhere."""
    target = parent / "runs" / "starter"
    if target.exists():
        if (target / "evolve.toml").is_file():
            return target
        raise ConfigError(
            f"{target} exists but is no project (it has no evolve.toml)\n  move it away, or name a project with --root"
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".starter-", dir=target.parent) as temporary:
            staged = Path(temporary) / "starter"
            shutil.copytree(Path(bench.__file__).parent / "starter" / "project", staged, ignore=_CACHES)
            _commit(staged)
            _move(staged, target)
    except OSError as error:
        raise ConfigError(
            f"the starter project cannot be unpacked to {target}: {error.strerror or error}"
        ) from error
    return target


def _move(staged: Path, target: Path) -> None:
    """Give the finished project its place, unless another process was faster."""
    try:
        staged.rename(target)
    except OSError:
        if not (target / "evolve.toml").is_file():
            raise


def _commit(folder: Path) -> None:
    """Make the folder a repository with one commit; `runs/` stays out of it."""
    for arguments in (
        ("init", "-q", "-b", "main"),
        ("add", "-A"),
        ("commit", "-q", "--no-gpg-sign", "-m", "The starter project"),
        ("tag", STARTER_TAG),
    ):
        try:
            subprocess.run(
                ["git", "-c", "core.autocrlf=false", *arguments],
                cwd=folder,
                env=_ENVIRONMENT,
                check=True,
                capture_output=True,
            )
        except FileNotFoundError as error:
            raise ConfigError("git is needed and was not found; install git") from error
        except subprocess.CalledProcessError as error:
            raise ConfigError(
                f"git {arguments[0]} failed in {folder}: {error.stderr.decode(errors='replace')}"
            ) from error

"""Git's plumbing, run on the host over foreign content: nothing of a user's or an agent's configuration applies.

No command here reads the configuration of a repository that this package did not write itself. A foreign
repository is read through its objects alone, as an alternate of a private repository of ours.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from msgspec import Struct

from bench.errors import WorkspaceError
from bench.text import printable

BRANCH = b"refs/heads/main"
IDENTITY = b"Developer <developer@example.invalid>"
MOMENT = 946684800  # seconds of 2000-01-01: when the commit was made and its files were written

_PATIENCE = 1800.0
_TOLD = 500  # characters of git's own words in a message

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.logAllRefUpdates=false",
    "core.commitGraph=false",
    "core.autocrlf=false",
    "core.protectNTFS=false",
    "core.protectHFS=false",
    "core.compression=1",
    "fastimport.unpackLimit=1",
    "protocol.allow=never",
    "safe.directory=*",
    "gc.auto=0",
)

_ENVIRONMENT = {
    "PATH": os.defpath,
    "LC_ALL": "C",
    "TZ": "UTC",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}


class Running:
    """A git process at work. `abandon` stops one whose remaining output nobody wants; that is no failure."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.abandoned = False

    @property
    def stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None  # noqa: S101 - opened as a pipe, for the type checker
        return self._process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None  # noqa: S101
        return self._process.stdout

    def abandon(self) -> None:
        self.abandoned = True
        self._process.kill()

    def close(self) -> int:
        """Close the pipes and wait for the end. Returns the exit code."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                _close(pipe)
        return self._process.wait()


class Repository(Struct, frozen=True):
    """A repository that this package wrote, and how commands see it. An interrupt at the terminal is not for git:
    who started it decides what becomes of the work.
    """

    git_dir: Path
    work_tree: Path | None = None
    index: Path | None = None

    def run(self, *arguments: str | bytes, stdin: bytes = b"") -> bytes:
        """Run a command to its end and return its output; WorkspaceError with git's own words if it fails."""
        try:
            finished = subprocess.run(
                self._command(arguments),
                input=stdin,
                capture_output=True,
                cwd=self.work_tree or self.git_dir,
                env=self._environment(),
                timeout=_PATIENCE,
                start_new_session=True,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise WorkspaceError(
                f"git {_name(arguments)} did not end within {_PATIENCE:.0f} seconds"
            ) from error
        if finished.returncode:
            raise WorkspaceError(_failure(arguments, finished.returncode, finished.stderr))
        return finished.stdout

    @contextmanager
    def stream(self, *arguments: str | bytes, stdin: IO[bytes] | None = None) -> Iterator[Running]:
        """Run a command beside the block, which feeds or reads it; WorkspaceError if it fails."""
        with TemporaryFile() as errors:
            process = subprocess.Popen(
                self._command(arguments),
                stdin=subprocess.PIPE if stdin is None else stdin,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self.work_tree or self.git_dir,
                env=self._environment(),
                start_new_session=True,
            )
            running, broken = Running(process), None
            try:
                yield running
            except BrokenPipeError as error:
                broken = error  # git went away: its exit code and its words say why
            except BaseException:
                running.abandon()
                running.close()
                raise
            code = running.close()
            if code and not running.abandoned:
                errors.seek(0)
                raise WorkspaceError(_failure(arguments, code, errors.read())) from broken
            if broken is not None:
                raise broken

    def _command(self, arguments: Sequence[str | bytes]) -> list[str | bytes]:
        program = shutil.which("git")
        if program is None:
            raise WorkspaceError("git is not installed, or not on the PATH; install git 2.30 or newer")
        place = [f"--work-tree={self.work_tree}"] if self.work_tree else []
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        return [program, f"--git-dir={self.git_dir}", *place, *settings, *arguments]

    def _environment(self) -> dict[str, str]:
        return _ENVIRONMENT | ({"GIT_INDEX_FILE": str(self.index)} if self.index else {})


def create_repository(
    git_dir: Path, *, settings: str = "\tbare = true\n", alternates: Path | None = None, sha256: bool = False
) -> Repository:
    """Write an empty repository without hooks, remotes, logs or templates. `settings` are lines of `[core]`;
    `alternates` is a folder of objects that it may read besides its own.
    """
    (git_dir / "objects").mkdir(parents=True)
    (git_dir / "refs" / "heads").mkdir(parents=True)
    (git_dir / "HEAD").write_bytes(b"ref: " + BRANCH + b"\n")
    version = "\trepositoryformatversion = 1\n" if sha256 else "\trepositoryformatversion = 0\n"
    extension = "[extensions]\n\tobjectformat = sha256\n" if sha256 else ""
    (git_dir / "config").write_text(f"[core]\n{version}{settings}{extension}", encoding="utf-8")
    if alternates is not None:
        listed = quoted(os.fsencode(alternates.resolve())) + b"\n"
        (git_dir / "objects" / "info").mkdir()
        (git_dir / "objects" / "info" / "alternates").write_bytes(listed)
    return Repository(git_dir)


def quoted(path: bytes) -> bytes:
    """A path in git's C style, as `fast-import` and `alternates` read it."""
    return b'"' + b"".join(_escaped(byte) for byte in path) + b'"'


def _escaped(byte: int) -> bytes:
    plain = 0x20 <= byte < 0x7F and byte not in b'"\\'  # noqa: PLR2004 - printable ASCII
    return bytes([byte]) if plain else b"\\%03o" % byte


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return  # what was still buffered has no reader: the exit code tells


def _failure(arguments: Sequence[str | bytes], code: int, errors: bytes) -> str:
    told = printable(errors.decode("utf-8", "replace").strip()).replace("\n", "; ")[:_TOLD]
    return f"git {_name(arguments)} failed (exit {code}): {told or 'it said nothing'}"


def _name(arguments: Sequence[str | bytes]) -> str:
    return os.fsdecode(arguments[0])

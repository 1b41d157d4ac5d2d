"""Shell commands that judge a working copy: the visible check and the hidden oracle."""

# ruff: noqa: PTH103, PTH120 - staged for every cell, where pathlib takes ten times as long

import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from bench.cancellation import Cancellation
from bench.disk import fresh_folder
from bench.errors import SandboxError
from bench.sandbox import (
    Command,
    End,
    Layout,
    Limits,
    Mount,
    ProcessResult,
    ReadOnly,
    Sandbox,
    Writable,
)
from bench.suite import CommandOracle, OracleFile

LONGEST_TAIL = 4000
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class CheckPlace(Struct, frozen=True, kw_only=True):
    """Where a cell's checks run. `copy` is a throw-away mount of what the sessions left, `folder` the cell's
    own on the host; `token` makes the oracle's place unguessable; `mounts` are the task's dependencies.
    """

    folder: Path
    layout: Layout
    copy: Mount
    mounts: tuple[Mount, ...]
    environment: Mapping[str, str]
    limits: Limits
    seconds: float
    token: str


class CheckResult(Struct, frozen=True, kw_only=True):
    """Whether a check passed, how it ended, and the last characters that it printed (never an oracle's).

    A hidden test that exits with 0 has not passed yet: it must also say its token.
    """

    passed: bool
    end: End
    seconds: float
    exited_zero: bool
    tail: str = ""


def run_verify(sandbox: Sandbox, place: CheckPlace, command: str, cancellation: Cancellation) -> CheckResult:
    """Run the visible check. One that ends in any way of its own has passed or failed; SandboxError if it
    could not be started or was stopped.
    """
    result = _run(sandbox, place, command, (), cancellation)
    printed = result.stdout.text() + result.stderr.text()
    return CheckResult(
        passed=result.succeeded,
        end=result.end,
        seconds=result.seconds,
        exited_zero=result.succeeded,
        tail=printed[-LONGEST_TAIL:],
    )


def run_oracle(
    sandbox: Sandbox, place: CheckPlace, oracle: CommandOracle, cancellation: Cancellation
) -> CheckResult:
    """Run the hidden test; only once every agent of the cell has exited. `ORACLE` names its files' place.

    It reads a fresh token from stdin and passes if it exits with 0 and the token is the last line that it
    printed: code under test that ends the process early, or prints a forged result, does not know it.
    SandboxError if the files are no longer what they were: then nothing it said can be trusted.
    """
    with _staged(place.folder, oracle.files) as folder:
        mount = ReadOnly(folder, f"/oracle-{place.token}")
        token = secrets.token_hex(16)
        result = _run(sandbox, place, oracle.command, (mount,), cancellation, f"{token}\n".encode())
        if not _intact(folder, oracle.files):
            raise SandboxError("the hidden test's files changed while it ran")
    return CheckResult(
        passed=result.succeeded and _last_line(result) == token,
        end=result.end,
        seconds=result.seconds,
        exited_zero=result.succeeded,
    )


def _last_line(result: ProcessResult) -> str:
    lines = result.stdout.text().split()
    return lines[-1] if lines else ""


def _run(
    sandbox: Sandbox,
    place: CheckPlace,
    command: str,
    oracle: tuple[ReadOnly, ...],
    cancellation: Cancellation,
    stdin: bytes = b"",
) -> ProcessResult:
    """One command by a non-login shell, in a home of its own: no profile or user site of an agent is read."""
    home = fresh_folder(place.folder, "check-home-")
    environment = dict(place.environment) | {"HOME": place.layout.seen(home, place.layout.home)}
    for mount in oracle:
        environment["ORACLE"] = place.layout.seen(mount.source, mount.target)
    result = sandbox.run(
        Command(
            argv=("/bin/sh", "-c", command),
            directory=place.layout.directory(place.copy),
            environment=environment,
            stdin=stdin,
            mounts=(place.copy, Writable(home, place.layout.home), *place.mounts, *oracle),
            seconds=place.seconds,
            limits=place.limits,
        ),
        cancellation,
    )
    if result.end in (End.SPAWN_FAILED, End.CANCELLED):
        raise SandboxError(f"a check was not run to its end: {result.end}: {result.detail}")
    return result


@contextmanager
def _staged(parent: Path, files: tuple[OracleFile, ...]) -> Iterator[Path]:
    """The files, readable by this user alone, in a private folder that is gone afterwards."""
    folder = fresh_folder(parent, "oracle-")
    try:
        for file in files:
            _write(f"{folder}/{file.target}", file.content)
        yield folder
    finally:
        shutil.rmtree(folder)


def _write(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with os.fdopen(os.open(path, _NEW, 0o400), "wb") as file:
        file.write(content)


def _intact(folder: Path, files: tuple[OracleFile, ...]) -> bool:
    """Whether the folder holds exactly these files with exactly these bytes."""
    found = {f"{parent}/{name}" for parent, _, names in os.walk(folder) for name in names}
    expected = {f"{folder}/{file.target}": file.content for file in files}
    return found == expected.keys() and all(_holds(path, content) for path, content in expected.items())


def _holds(path: str, content: bytes) -> bool:
    """Whether a file of these bytes is there; a link is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        return stat.S_ISREG(os.fstat(descriptor).st_mode) and file.read(len(content) + 1) == content

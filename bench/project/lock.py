"""Who works on a run, and whether anybody writes to a project's store: locks that end with their process."""

import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated

import msgspec
from msgspec import Meta, Struct, structs

from bench.errors import RunError
from bench.project.runs import RUNS, RunFolder, create_run
from bench.text import printable

LOCK = "lock"
STORE_LOCK = "objects.lock"
HOLDER_VERSION = 1
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PATIENCE = 0.5  # seconds; somebody who only looks holds a lock for an instant
_MOST = 4096


class Holder(Struct, frozen=True, kw_only=True):
    """Who works on a run, or did last; `code` is what the command exited with, null if it never came to that."""

    schema_version: int
    pid: int
    host: str
    command: str
    started_at: Annotated[datetime, Meta(tz=True)]
    finished_at: Annotated[datetime, Meta(tz=True)] | None = None
    code: int | None = None


class Hold:
    """A run that this process works on."""

    def __init__(self, run: RunFolder, file: IO[bytes], holder: Holder) -> None:
        self.run = run
        self._file, self._holder = file, holder
        self._write()

    def finish(self, code: int) -> None:
        """Say that the command came to its end; without this, the run counts as interrupted."""
        self._holder = structs.replace(self._holder, finished_at=datetime.now(UTC), code=code)
        self._write()

    def _write(self) -> None:
        content = msgspec.json.encode(self._holder) + b"\n"
        try:
            os.pwrite(self._file.fileno(), content, 0)
            os.ftruncate(self._file.fileno(), len(content))
            os.fsync(self._file.fileno())
        except OSError as error:
            raise RunError(
                f"cannot write {self.run.path / LOCK}: {error.strerror}\n  free some space, then try again"
            ) from error


@contextmanager
def start_run(root: Path, configuration: str, command: str) -> Iterator[Hold]:
    """A fresh run folder, held from the beginning."""
    with hold_run(create_run(root, configuration), command) as hold:
        yield hold


@contextmanager
def hold_run(run: RunFolder, command: str) -> Iterator[Hold]:
    """Be the only process that works on the run. RunError names the one that does already.

    The lock ends with the process, however that ends. The project's store is in use meanwhile.
    """
    with use_store(run.path.parent), _lock_file(run) as file:
        me = Holder(
            schema_version=HOLDER_VERSION,
            pid=os.getpid(),
            host=os.uname().nodename,
            command=command,
            started_at=datetime.now(UTC),
        )
        yield Hold(run, file, me)


@contextmanager
def claim_run(run: RunFolder) -> Iterator[None]:
    """Keep everybody else from working on the run, without a word in it: it is about to be removed."""
    with _lock_file(run):
        yield


def read_holder(run: RunFolder) -> tuple[Holder | None, bool]:
    """Who works on the run or did last, as far as that is written down, and whether it still does."""
    try:
        descriptor = os.open(run.path / LOCK, _READ)
    except OSError:
        return None, False
    try:
        held = not _try(descriptor, fcntl.LOCK_SH)
        return _decoded(os.pread(descriptor, _MOST, 0)), held
    except OSError:
        return None, False
    finally:
        os.close(descriptor)


def refuse_in_progress(run: RunFolder, what: str) -> None:
    """RunError if a process works on the run; `what` is what cannot be done then."""
    holder, held = read_holder(run)
    if held:
        raise RunError(
            f"run {printable(run.id)} {what}: {_by(holder)}\n  wait for it to end, or stop it there"
        )


@contextmanager
def use_store(runs: Path) -> Iterator[None]:
    """Write to the project's object store, and name what it holds: nothing is collected meanwhile."""
    with _store_lock(runs, fcntl.LOCK_SH, "something is being removed from the object store"):
        yield


@contextmanager
def keep_store(root: Path) -> Iterator[None]:
    """Keep what a project's store holds, from before it is looked at until what was found is named by a run. A project
    without runs has nothing to keep.
    """
    if not (root / RUNS).is_dir():
        yield
        return
    with use_store(root / RUNS):
        yield


@contextmanager
def own_store(runs: Path) -> Iterator[None]:
    """Have the project's runs and object store alone. RunError if anybody works on a run, or adds to the store."""
    with _store_lock(runs, fcntl.LOCK_EX, "another process works on a run or adds to the object store"):
        yield


@contextmanager
def _store_lock(runs: Path, kind: int, busy: str) -> Iterator[None]:
    path = runs / STORE_LOCK
    try:
        descriptor = os.open(path, _WRITE | os.O_CREAT, 0o644)
    except OSError as error:
        raise RunError(f"cannot open {path}: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise RunError(f"cannot lock {path}: it is no regular file")
        if not _acquired(descriptor, kind):
            raise RunError(f"{runs}: {busy}\n  wait for it to end, then try again")
        yield
    finally:
        os.close(descriptor)


def _lock_file(run: RunFolder) -> IO[bytes]:
    """The run's lock file, locked. RunError if another process has it."""
    try:
        for _ in range(2):  # between looking for it and making it, another process may have made it
            with suppress(FileNotFoundError):
                return _existing_lock(run)
            with suppress(FileExistsError):
                return _new_lock(run)
    except OSError as error:
        raise RunError(f"cannot lock {run.path / LOCK}: {error.strerror}") from error
    raise RunError(f"cannot lock {run.path / LOCK}: it comes and goes")


def _existing_lock(run: RunFolder) -> IO[bytes]:
    path = run.path / LOCK
    file = os.fdopen(os.open(path, _WRITE), "rb+", buffering=0)
    regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    if not regular or not _acquired(file.fileno(), fcntl.LOCK_EX):
        file.close()
        raise RunError(_refusal(run) if regular else f"cannot lock {path}: it is no regular file")
    return file


def _new_lock(run: RunFolder) -> IO[bytes]:
    """A new lock file gets its name only once it is locked, so that it is never found free for a moment."""
    descriptor, unnamed = tempfile.mkstemp(prefix=f".{LOCK}-", dir=run.path)
    file = os.fdopen(descriptor, "rb+", buffering=0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.fchmod(descriptor, 0o644)
        os.link(unnamed, run.path / LOCK)
    except BaseException:
        file.close()
        raise
    finally:
        Path(unnamed).unlink()
    return file


def _refusal(run: RunFolder) -> str:
    holder, _ = read_holder(run)
    return (
        f"run {printable(run.id)} is being worked on: {_by(holder)}\n"
        f"  wait for it to end, or look at it: evolve runs show {printable(run.id)}"
    )


def _by(holder: Holder | None) -> str:
    if holder is None:
        return "by a process that did not say which"
    since = holder.started_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"by process {holder.pid} on {printable(holder.host)} since {since} ({printable(holder.command)})"


def _acquired(descriptor: int, kind: int) -> bool:
    """Take a lock; somebody who only looks whether it is held may be in the way for an instant."""
    until = time.monotonic() + _PATIENCE
    while not _try(descriptor, kind):  # a lock of another process says nothing when it ends: ask again
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def _try(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _decoded(content: bytes) -> Holder | None:
    try:
        return msgspec.json.decode(content, type=Holder)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None

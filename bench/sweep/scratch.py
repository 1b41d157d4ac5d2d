"""The private folder of a run's templates and cells: outside the project, and gone when the run ends."""

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bench.errors import ConfigError, WorkspaceError
from bench.workspace import remove_tree

PREFIX = "bench-"
LOCK = "incumbent.lock"  # whoever removes folders of others must not mistake one for ours


@contextmanager
def open_scratch(parent: Path) -> Iterator[Path]:
    """A fresh folder below `parent`, locked while it is used. Those that a killed run left are removed first."""
    if not parent.is_dir():
        raise ConfigError(f"sandbox.scratch is not a folder: {parent}")
    try:
        _remove_abandoned(parent)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        lock = _lock(folder)
    except (OSError, WorkspaceError) as error:
        raise ConfigError(f"sandbox.scratch={parent} cannot be used: {error}") from error
    with lock:
        try:
            yield folder
        finally:
            _remove(folder)


def _lock(folder: Path) -> IO[bytes]:
    """The folder's lock, held. It gets its name only then: a lock that can be found is never free for a moment."""
    unnamed = folder / f"{LOCK}.new"
    file = unnamed.open("xb")
    fcntl.flock(file, fcntl.LOCK_EX)
    unnamed.rename(folder / LOCK)
    return file


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            status = folder.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
                # not blocking: anybody may have put a pipe there
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                with os.fdopen(os.open(folder / LOCK, flags), "rb") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(folder)
        except (BlockingIOError, FileNotFoundError, PermissionError):
            continue  # in use, just removed by another run, or none of ours


def _remove(folder: Path) -> None:
    """Remove a locked folder, the lock last: a removal that is itself killed can be taken up by the next run."""
    for path in folder.iterdir():
        if path.name != LOCK:
            remove_tree(path)
    remove_tree(folder)

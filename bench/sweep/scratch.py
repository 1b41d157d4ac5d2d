"""The private folder of a run's templates and cells: outside the project, and gone when the run ends."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.errors import ConfigError
from bench.workspace import remove_tree

PREFIX = "bench-"


@contextmanager
def open_scratch(parent: Path) -> Iterator[Path]:
    """A fresh folder below `parent`, locked while it is used. Those that a killed run left are removed first."""
    if not parent.is_dir():
        raise ConfigError(f"sandbox.scratch is not a folder: {parent}")
    _remove_abandoned(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    descriptor = os.open(folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield folder
    finally:
        remove_tree(folder)
        os.close(descriptor)


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        if folder.stat().st_uid == os.getuid() and (folder / "lock").is_file() and _unlocked(folder / "lock"):
            remove_tree(folder)


def _unlocked(lock: Path) -> bool:
    """Whether no living process holds the lock."""
    with lock.open("rb+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

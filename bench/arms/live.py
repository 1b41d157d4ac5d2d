"""Files outside the run that cells see as they are: noticed when they change, by what a look at them costs."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from bench.errors import UserError
from bench.suite import Refused

Stamp = tuple[str, int, int, int, int]  # path below its root, size, mtime in ns, inode, mode
_MARGIN = 2_000_000_000  # ns by which the clock of a file system may lag behind this one


class Shown(Struct, frozen=True):
    """A file or folder that cells see live: what it is to people, and how its digest, known since the run began, is
    found out again.
    """

    what: str
    path: Path
    digest: str
    reread: Callable[[], str]


class Seen(Struct, frozen=True):
    """One look at all that a cell sees: the stamps, and what is no longer what the run has the digest of."""

    stamps: tuple[tuple[Stamp, ...], ...] = ()
    changed: str | None = None


class Watch(Protocol):
    """Looks at what a cell of an arm on a task sees live. `changed` is what any look has found."""

    @property
    def changed(self) -> str | None: ...

    def look(self, arm: str, task: str) -> Seen: ...


class Unwatched:
    """Where nothing is shown live."""

    changed = None

    def look(self, arm: str, task: str) -> Seen:  # noqa: ARG002 - the protocol's
        return Seen()


class LiveFiles:
    """Compares stamps with those that a file had when it was last known to be itself; reads it again only if they
    differ. `began` is a time in ns before anything was hashed: what was written after it is read again once.
    """

    def __init__(self, shown: Callable[[str, str], tuple[Shown, ...]], began: int) -> None:
        self._shown, self._since = shown, began - _MARGIN
        self._listed: dict[tuple[str, str], tuple[Shown, ...]] = {}
        self._known: dict[Path, tuple[Stamp, ...]] = {}
        self._lock = threading.Lock()
        self.changed: str | None = None

    def look(self, arm: str, task: str) -> Seen:
        """What a cell sees now; `changed` names the first file that is another one."""
        with self._lock:
            if (arm, task) not in self._listed:
                self._listed[arm, task] = self._shown(arm, task)
            listed = self._listed[arm, task]
            stamps = tuple(read_stamps(each.path) for each in listed)
            found = (self._compared(each, now) for each, now in zip(listed, stamps, strict=True))
            changed = next((each for each in found if each is not None), None)
            self.changed = self.changed or changed
        return Seen(stamps, changed)

    def _compared(self, shown: Shown, now: tuple[Stamp, ...]) -> str | None:
        """None if it is what it was. A file that was only touched is known by its new stamps from then on."""
        known = self._known.get(shown.path)
        untouched = now == known if known is not None else _newest(shown.path) < self._since
        if not untouched and not _is_same(shown):
            return f"{shown.what} was changed while the run used it: {first_other(shown.path, known, now)}"
        self._known[shown.path] = now
        return None


def read_stamps(path: Path) -> tuple[Stamp, ...]:
    """The stamps of a file, or of everything below a folder; of folders no time, for what they hold has stamps."""
    return tuple(
        (name, 0, 0, status.st_ino, status.st_mode)
        if name.endswith("/")
        else (name, status.st_size, status.st_mtime_ns, status.st_ino, status.st_mode)
        for name, status in sorted(_entries(path), key=lambda entry: entry[0])
    )


def first_other(path: Path, before: tuple[Stamp, ...] | None, now: tuple[Stamp, ...]) -> Path:
    """The first path below a root of which the stamps differ, the root itself where nobody knows."""
    if before is None:
        return path
    names = sorted(each[0] for each in {*before} ^ {*now})
    files = [name for name in names if not name.endswith("/")] or names
    return path / files[0] if files else path


def _is_same(shown: Shown) -> bool:
    try:
        return shown.reread() == shown.digest
    except (Refused, UserError, OSError):
        return False


def _newest(path: Path) -> int:
    """When anything below a root was last changed, in ns, as far as its file system says."""
    return max((max(status.st_ctime_ns, status.st_mtime_ns) for _, status in _entries(path)), default=2**63)


def _entries(path: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Each entry at and below a path, the names of folders with a slash; nothing where nothing is."""
    try:
        status = path.lstat()
        folders = [(path, "")] if path.is_dir() and not path.is_symlink() else []
        yield ("/" if folders else ""), status
        while folders:
            folder, name = folders.pop()
            with os.scandir(folder) as entries:
                for entry in entries:
                    below = f"{name}{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        folders.append((folder / entry.name, f"{below}/"))
                        below += "/"
                    yield below, entry.stat(follow_symlinks=False)
    except OSError:
        return

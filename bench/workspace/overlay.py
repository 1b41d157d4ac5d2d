"""Working copies by overlayfs: the template below, and what a session changes in a folder of its own above it."""

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.errors import WorkspaceError
from bench.sandbox import Layered, Mount
from bench.workspace.changes import entries_between
from bench.workspace.paths import is_repository, readable, relative
from bench.workspace.placing import place_file
from bench.workspace.protocol import Entry, Kept, Leaf, Template
from bench.workspace.removal import remove_trees
from bench.workspace.tree import LINK, Found, Tree

_OPAQUE = ("user.overlay.opaque", "trusted.overlay.opaque")


class OverlayCopy:
    """A template seen through an upper folder, which holds what is different and nothing else."""

    def __init__(self, template: Template, cell: Path) -> None:
        self._lower = template.tree
        self._upper, self._work = cell / "upper", cell / "work"
        self._original = Tree(os.fsencode(self._lower))
        self._current = Tree(os.fsencode(self._upper))
        self._placed: set[bytes] = set()
        self._upper.mkdir(parents=True)
        self._work.mkdir()

    def write(self, files: Mapping[str, bytes]) -> None:
        for name, content in files.items():
            path = relative(name, "a file to put into a working copy")
            place_file(self._current, path, content, (self._original, self._current))
            self._placed.add(path)

    def read(self, path: str) -> bytes | None:
        wanted = readable(path)
        leaf = self._current.read(wanted)
        if leaf is None and not self._hidden(wanted):
            leaf = self._original.read(wanted)
        return None if leaf is None or leaf.mode == LINK else leaf.content

    def has(self, path: str) -> bool:
        return any(tree.may_have(readable(path)) for tree in (self._original, self._current))

    def leaf(self, path: bytes) -> Leaf | None:
        return self._current.read(path)

    def live(self, target: str, *, writable: bool) -> Mount:
        if writable:
            return Layered(lower=(self._lower,), target=target, upper=self._upper, work=self._work)
        return Layered(lower=(self._lower, self._upper), target=target)

    def throwaway(self, target: str) -> Mount:
        return Layered(lower=(self._lower, self._upper), target=target, throwaway=True)

    def last(self, target: str, changed: Iterable[Entry]) -> Mount:  # noqa: ARG002 - a layer leaves out nothing
        return self.throwaway(target)

    def entries(self) -> tuple[Entry, ...]:
        return self._differences(list(self._current.walk()), self._placed)

    def repository(self) -> tuple[Entry, ...]:
        found = self._current.walk(without=())
        return self._differences([each for each in found if is_repository(each.path)], ())

    def restore(self, state: Sequence[Kept]) -> None:
        try:
            for kept in state:
                if kept.leaf is not None:
                    self._current.remove(kept.path)
                    self._current.write(kept.path, kept.leaf)
            for kept in state:
                if kept.leaf is None:
                    self._current.hide(kept.path)
        except OSError as error:
            raise WorkspaceError(f"a working copy cannot be restored: {error}") from error

    def _differences(self, found: Sequence[Found], placed: Collection[bytes]) -> tuple[Entry, ...]:
        present = {each.path for each in found if not each.folder and not _is_whiteout(each.status)}
        gone = {path for each in found for path in self._covered(each) if path not in present}
        return entries_between(self._original, self._current, present, gone, placed)

    def remove(self) -> None:
        remove_trees((self._upper, self._work))

    def _covered(self, found: Found) -> Iterator[bytes]:
        """The files and links of the template that something in the upper folder hides."""
        if found.folder and not _is_opaque(self._current.at(found.path)):
            status = self._original.status(found.path)
            if status is not None and not stat.S_ISDIR(status.st_mode):
                yield found.path
        else:
            yield from self._leaves(found.path)

    def _leaves(self, path: bytes) -> Iterator[bytes]:
        """The file or link of the template at `path`, or all those below it."""
        status = self._original.status(path)
        if status is not None and not stat.S_ISDIR(status.st_mode):
            yield path
        elif status is not None:
            below = Tree(self._original.at(path)).walk(())
            yield from (path + b"/" + each.path for each in below if not each.folder)

    def _hidden(self, path: bytes) -> bool:
        """Whether the upper folder holds something that keeps the template's `path` from being seen."""
        parts = path.split(b"/")
        above = (b"/".join(parts[:length]) for length in range(1, len(parts)))
        return self._current.status(path) is not None or any(self._hides(each) for each in above)

    def _hides(self, path: bytes) -> bool:
        status = self._current.status(path)
        return status is not None and (not stat.S_ISDIR(status.st_mode) or _is_opaque(self._current.at(path)))


class OverlayWorkspaces:
    """Makes a working copy in constant time, whatever the size of the template."""

    name = "overlay"

    def create(self, template: Template, cell: Path) -> OverlayCopy:
        """A private view of `template` below the folder `cell`."""
        return OverlayCopy(template, cell)


def _is_whiteout(status: os.stat_result) -> bool:
    """How overlayfs records that the file or folder of this name is gone."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _is_opaque(folder: bytes) -> bool:
    """Whether a folder replaces the template's folder of this name instead of adding to it."""
    return any(_attribute(folder, name) == b"y" for name in _OPAQUE)


def _attribute(folder: bytes, name: str) -> bytes:
    try:
        return os.getxattr(folder, name, follow_symlinks=False)
    except OSError:
        return b""  # not set, or not kept by this file system

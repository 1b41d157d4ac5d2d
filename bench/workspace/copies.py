"""Working copies that are copies: of blocks that are shared until written (reflink), or of every byte."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from bench.errors import WorkspaceError
from bench.sandbox import Layered, Mount, ReadOnly, Writable
from bench.workspace.changes import entries_between
from bench.workspace.folders import CopyFile, SmallFolder, clone_file, copy_file, copy_folder, read_small
from bench.workspace.paths import readable, relative, shown
from bench.workspace.placing import place_file
from bench.workspace.protocol import Entry, Kept, Leaf, Template
from bench.workspace.removal import remove_trees
from bench.workspace.tree import LARGEST, LINK, Found, Tree

_Stamp = tuple[int, int, int, int, int]
_Traits = tuple[int, int, int]  # size, time and mode: copying keeps all three


class _Known(Struct, frozen=True):
    """What is read of a template once, for all its copies: its bytes, if they are few, and its `.git`."""

    small: SmallFolder | None
    repository: Mapping[bytes, _Traits]


class PlainCopy:
    """A folder of its own. What changed in it is told by the sizes, times, inodes and modes that every file had
    at first; only where one of those differs are bytes compared.
    """

    def __init__(
        self, template: Template, cell: Path, copy: CopyFile, known: _Known, *, layered: bool
    ) -> None:
        self._cell, self._copy, self._layered = cell, copy, layered
        self._folder = cell / "workspace"
        self._original = Tree(os.fsencode(template.tree))
        self._current = Tree(os.fsencode(self._folder))
        self._repository = known.repository
        self._placed: set[bytes] = set()
        self._thrown: list[Path] = []
        cell.mkdir(parents=True, exist_ok=True)
        if known.small is None:
            self._duplicate(template.tree, self._folder)
            self._stamps = _stamps(self._current)
        else:
            self._stamps = _written(known.small, self._folder)

    def write(self, files: Mapping[str, bytes]) -> None:
        for name, content in files.items():
            path = relative(name, "a file to put into a working copy")
            place_file(self._current, path, content, (self._current,))
            self._placed.add(path)

    def read(self, path: str) -> bytes | None:
        leaf = self._current.read(readable(path))
        return None if leaf is None or leaf.mode == LINK else leaf.content

    def has(self, path: str) -> bool:
        place = readable(path)
        return self._original.may_have(place) or self._current.may_have(place)

    def leaf(self, path: bytes) -> Leaf | None:
        return self._current.read(path)

    def live(self, target: str, *, writable: bool) -> Mount:
        return Writable(self._folder, target) if writable else ReadOnly(self._folder, target)

    def throwaway(self, target: str) -> Mount:
        if self._layered:
            return Layered(lower=(self._folder,), target=target, throwaway=True)
        copy = self._cell / f"workspace-{len(self._thrown) + 1}"
        self._thrown.append(copy)
        self._duplicate(self._folder, copy)
        return Writable(copy, target)

    def last(self, target: str, changed: Iterable[Entry]) -> Mount:
        special = any(entry.kind == "special" for entry in changed)
        return self.throwaway(target) if self._layered or special else Writable(self._folder, target)

    def entries(self) -> tuple[Entry, ...]:
        now = _stamps(self._current)
        suspicious = [path for path, stamp in now.items() if self._stamps.get(path) != stamp]
        gone = self._stamps.keys() - now.keys()
        return entries_between(self._original, self._current, suspicious, gone, self._placed)

    def repository(self) -> tuple[Entry, ...]:
        now, before = _repository(self._current), self._repository
        suspicious = [path for path, stamp in now.items() if before.get(path) != stamp]
        return entries_between(self._original, self._current, suspicious, before.keys() - now.keys(), ())

    def restore(self, state: Sequence[Kept]) -> None:
        for kept in state:
            self._current.remove(kept.path)
            if kept.leaf is None:
                self._current.prune(kept.path.rpartition(b"/")[0])
        for kept in state:
            if kept.leaf is not None:
                self._write(kept.path, kept.leaf)

    def remove(self) -> None:
        remove_trees((self._folder, *self._thrown))

    def _write(self, path: bytes, leaf: Leaf) -> None:
        try:
            self._current.write(path, leaf)
        except OSError as error:
            raise WorkspaceError(f"{shown(path)!r} cannot be restored: {error.strerror}") from error

    def _duplicate(self, source: Path, target: Path) -> None:
        """Copy all that a capture would keep: nothing special, and no huge file that the template does not have."""
        try:
            copy_folder(os.fsencode(source), os.fsencode(target), self._copy, self._captured)
        except OSError as error:
            raise WorkspaceError(f"{source} cannot be copied to {target}: {error}") from error

    def _captured(self, found: Found) -> bool:
        if found.status.st_size <= LARGEST:
            return True
        before = self._original.status(found.path)
        return before is not None and before.st_size == found.status.st_size


class CopyWorkspaces:
    """Makes a working copy by copying the template, in the way of its name."""

    def __init__(self, name: Literal["reflink", "copy"], *, layered: bool) -> None:
        self.name: str = name
        self._copy = clone_file if name == "reflink" else copy_file
        self._layered = layered
        self._known: dict[Path, _Known] = {}

    def create(self, template: Template, cell: Path) -> PlainCopy:
        """A private view of `template` below the folder `cell`."""
        if template.tree not in self._known:
            tree = Tree(os.fsencode(template.tree))
            self._known[template.tree] = _Known(read_small(template.tree), _repository(tree))
        return PlainCopy(template, cell, self._copy, self._known[template.tree], layered=self._layered)


def _written(small: SmallFolder, folder: Path) -> dict[bytes, _Stamp]:
    """Make a folder like `small`; what `_stamps` would say of it."""
    try:
        made = small.write(os.fsencode(folder))
    except OSError as error:
        raise WorkspaceError(f"a working copy cannot be made in {folder}: {error}") from error
    return {path: _stamp(status) for path, status in made.items() if not path.startswith(b".git/")}


def _stamps(tree: Tree) -> dict[bytes, _Stamp]:
    """What is cheap to know of every file, link or special thing of a tree."""
    return {found.path: _stamp(found.status) for found in tree.walk() if not found.folder}


def _repository(tree: Tree) -> dict[bytes, _Traits]:
    """The traits of every file, link or special thing of a tree's `.git`."""
    return {
        b".git/" + found.path: (found.status.st_size, found.status.st_mtime_ns, found.status.st_mode)
        for found in Tree(tree.at(b".git"), tree.ours).walk(without=())
        if not found.folder
    }


def _stamp(status: os.stat_result) -> _Stamp:
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)

"""From a sanitized repository to the state that a session starts from: change, assets, setup."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.errors import WorkspaceError
from bench.sandbox import ProcessResult
from bench.suite import Asset, CommandOracle, Task, open_oracle
from bench.workspace.base import NANOSECONDS, Base
from bench.workspace.folders import copy_folder
from bench.workspace.git import MOMENT, Repository, create_repository
from bench.workspace.objects import GITLINK, Listed, read_objects
from bench.workspace.paths import literal, relative, shown
from bench.workspace.protocol import Leaf
from bench.workspace.removal import remove_tree
from bench.workspace.sources import folder_files
from bench.workspace.tree import Tree, git_mode

# Runs a task's setup command in the given tree, confined, with no skill present.
SetupRunner = Callable[[Task, Path], ProcessResult]

# A day after the commit: git must see that these files are not the committed ones, even at an equal size.
_CHANGED = (MOMENT + 86400) * NANOSECONDS

_DELETED = 0


def apply_change(task: Task, patch: bytes, base: Base, tree: Path, excluded: tuple[bytes, ...]) -> None:
    """Apply a patch to the work tree only. Its hunks for excluded paths are left out. WorkspaceError tells the
    first line that does not fit.
    """
    with TemporaryDirectory(prefix="change-", dir=tree.parent) as folder:
        objects = base.tree / ".git" / "objects"
        created = create_repository(Path(folder) / "git", alternates=objects)
        scratch = Repository(created.git_dir, index=created.git_dir / "index")
        scratch.run("read-tree", base.commit)
        try:
            scratch.run("apply", "--cached", "--whitespace=nowarn", *_without(excluded), "-", stdin=patch)
            _write_changed(scratch, base.commit, Tree(os.fsencode(tree)))
        except (WorkspaceError, OSError) as error:
            raise WorkspaceError(
                f"the change of task {task.id!r} does not apply to its source: {error}"
            ) from error


def copy_assets(assets: tuple[Asset, ...], tree: Path) -> None:
    """Copy a task's assets into the work tree, each in place of what is at its target."""
    for asset in assets:
        target = relative(asset.target, "the target of an asset")
        try:
            _replace(Tree(os.fsencode(tree)), target, asset.source)
        except OSError as error:
            raise WorkspaceError(
                f"asset {asset.source} cannot be copied to {asset.target}: {error}"
            ) from error


def run_setup(task: Task, base: Base, tree: Path, runner: SetupRunner | None) -> None:
    """Run the task's setup command in the work tree, and put the repository back as it was before."""
    if runner is None:
        raise WorkspaceError(f"task {task.id!r} has a setup command, and nothing to run it in was given")
    result = runner(task, tree)
    if not result.succeeded:
        raise WorkspaceError(f"the setup command of task {task.id!r} failed {result.account()}")
    remove_tree(tree / ".git")
    copy_folder(os.fsencode(base.tree / ".git"), os.fsencode(tree / ".git"))
    strange = [shown(found.path) for found in Tree(os.fsencode(tree)).walk() if found.special]
    if strange:
        raise WorkspaceError(
            f"the setup command of task {task.id!r} left what is no file, link or folder, or too deep: {strange[:5]}"
        )


def refuse_open_oracle(task: Task, tree: Path) -> None:
    """WorkspaceError if the whole hidden test of a task lies in its own starting state."""
    if not isinstance(task.oracle, CommandOracle):
        return
    sizes = {len(file.content) for file in task.oracle.files}
    there = Tree(os.fsencode(tree))
    same = (found.path for found in there.walk() if not found.folder and found.status.st_size in sizes)
    leaves = ((path, leaf) for path in same if (leaf := there.read(path)) is not None)
    places = open_oracle(task, ((path, leaf.content) for path, leaf in leaves))
    if places:
        raise WorkspaceError(
            f"the hidden test of task {task.id!r} lies open in its own source: {', '.join(map(shown, places))}; "
            "take it out of the source, or give the task a test that is not there"
        )


def _without(excluded: tuple[bytes, ...]) -> Iterator[bytes]:
    for path in excluded:
        yield b"--exclude=" + literal(path)
        yield b"--exclude=" + literal(path) + b"/*"


def _write_changed(scratch: Repository, commit: str, tree: Tree) -> None:
    raw = scratch.run("diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", commit)
    changed = list(_changed(raw))
    for entry in changed:
        tree.remove(entry.path)
    for entry in changed:
        tree.prune(entry.path.rpartition(b"/")[0])
    blobs = [entry for entry in changed if entry.mode not in (_DELETED, GITLINK)]
    for entry, blob in zip(blobs, read_objects(scratch, [entry.name for entry in blobs]), strict=True):
        tree.write(entry.path, Leaf(entry.mode, blob.content), _CHANGED)
    for entry in changed:
        if entry.mode == GITLINK:
            tree.make_folder(entry.path)


def _changed(raw: bytes) -> Iterator[Listed]:
    """The new mode, object and path of each record `:old new old-object new-object status NUL path NUL`."""
    fields = raw.split(b"\0")[:-1]
    for described, path in zip(fields[::2], fields[1::2], strict=True):
        _, mode, _, name, _ = described.split(b" ")
        yield Listed(int(mode, 8), name.decode("ascii"), path)


def _replace(tree: Tree, target: bytes, source: Path) -> None:
    if tree.status(target) is not None:
        remove_tree(Path(os.fsdecode(tree.at(target))))
    if source.is_dir():
        tree.make_folder(target)
        for path, leaf in folder_files(source):
            tree.write(target + b"/" + path, leaf, _CHANGED)
    else:
        mode = git_mode(source.stat())
        if mode is None:
            raise WorkspaceError(f"asset {source} is neither a file nor a folder")
        tree.write(target, Leaf(mode, source.read_bytes()), _CHANGED)

"""A sanitized repository: one parentless commit of exactly the files that may be seen, and nothing else."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from bench.errors import WorkspaceError
from bench.workspace.git import BRANCH, IDENTITY, MOMENT, Repository, create_repository
from bench.workspace.objects import all_objects, importing, list_tree
from bench.workspace.paths import literal, shown
from bench.workspace.protocol import Leaf
from bench.workspace.sources import Contents
from bench.workspace.tree import Tree

NANOSECONDS = 1_000_000_000

# Files are told from their index by size and second only: owner, inode and time of change differ in a sandbox
# and in a copy, and would make every first `git status` read every file.
_SETTINGS = """\
	bare = false
	filemode = true
	symlinks = true
	autocrlf = false
	checkStat = minimal
	trustctime = false
[gc]
	auto = 0
[maintenance]
	auto = false
[user]
	name = {name}
	email = {email}
"""
_NO_CONVERSION = b"* !text !eol !crlf !ident !filter !working-tree-encoding\n"


class Base(Struct, frozen=True):
    """A work tree with its sanitized repository, not to be written any more, and the name of its commit.
    `left_out` is what the source holds of a hidden suite.
    """

    tree: Path
    commit: str
    left_out: tuple[bytes, ...] = ()


def build_base(contents: Contents, tree: Path, *, committed: bool, ignored: tuple[bytes, ...]) -> Base:
    """Write a source's files to the new folder `tree` and commit them there, or, unless `committed`, an empty
    commit. Paths of `ignored` are ones that git leaves alone in it, now and later.
    """
    repository = _create(tree, ignored)
    with importing(repository) as importer:
        imported = []
        for path, leaf in contents.files:
            _write(tree, path, leaf)
            if committed:
                imported.append((path, leaf.mode, importer.blob(leaf.content)))
        importer.commit(BRANCH, imported)
    for path in contents.folders:
        Tree(os.fsencode(tree)).make_folder(path)
    _fill_index(repository)
    commit = repository.run("rev-parse", "--verify", BRANCH).decode("ascii").strip()
    verify_repository(repository, commit)
    return Base(tree, commit, contents.left_out)


def _create(tree: Path, ignored: tuple[bytes, ...]) -> Repository:
    tree.mkdir(parents=True)
    name, _, address = IDENTITY.decode("ascii").partition(" ")
    settings = _SETTINGS.format(name=name, email=address.strip("<>"))
    created = create_repository(tree / ".git", settings=settings)
    (tree / ".git" / "info").mkdir()
    rules = b"".join(b"/%s\n" % literal(path) for path in ignored)
    (tree / ".git" / "info" / "exclude").write_bytes(rules)
    return Repository(created.git_dir, work_tree=tree)


def _write(tree: Path, path: bytes, leaf: Leaf) -> None:
    try:
        Tree(os.fsencode(tree)).write(path, leaf, MOMENT * NANOSECONDS)
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{shown(path)!r} of the source cannot be written here: {error}") from error


def _fill_index(repository: Repository) -> None:
    """Make an index that holds every file as clean. The attributes of the source would convert files that were
    written byte for byte, so they are switched off for the one time that git compares content.
    """
    attributes = repository.git_dir / "info" / "attributes"
    attributes.write_bytes(_NO_CONVERSION)
    repository.run("read-tree", BRANCH)
    repository.run("update-index", "--refresh")
    attributes.unlink()


def verify_repository(repository: Repository, commit: str) -> None:
    """Read every object and every file of the repository; WorkspaceError on anything that was not put there."""
    expected = {commit, repository.run("rev-parse", f"{commit}^{{tree}}").decode("ascii").strip()}
    expected.update(entry.name for entry in list_tree(repository, commit, "-t"))
    found = set(_object_names(repository))
    if found != expected:
        raise WorkspaceError(
            f"a sanitized repository holds {len(found ^ expected)} objects that differ from its commit"
        )
    complaints = repository.run(
        "fsck", "--connectivity-only", "--unreachable", "--no-reflogs", "--no-progress"
    )
    strange = [name for name in _files(repository.git_dir) if not _belongs(name)]
    if complaints or strange:
        raise WorkspaceError(
            f"a sanitized repository is not clean: {strange} {complaints.decode('utf-8', 'replace')}"
        )


def _object_names(repository: Repository) -> Iterator[str]:
    for each in all_objects(repository):
        state = hashlib.sha1(b"%s %d\0" % (each.kind, len(each.content)), usedforsecurity=False)
        state.update(each.content)
        if state.hexdigest() != each.name:
            raise WorkspaceError(f"object {each.name} of a sanitized repository is damaged")
        yield each.name


def _files(git_dir: Path) -> Iterator[str]:
    for found in Tree(os.fsencode(git_dir)).walk():
        if not found.folder:
            yield os.fsdecode(found.path)


def _belongs(name: str) -> bool:
    known = {"HEAD", "config", "index", "info/exclude", os.fsdecode(BRANCH)}
    return name in known or (
        name.startswith("objects/pack/pack-") and name.endswith((".pack", ".idx", ".rev"))
    )

"""The files of a task's source, exactly as they are committed or lie there, without a word of its configuration."""

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from bench.errors import WorkspaceError
from bench.suite import MANIFEST, Hidden, RepositorySource, Source, to_leave_out
from bench.workspace.git import Repository, create_repository
from bench.workspace.objects import GITLINK, Listed, list_tree, read_objects
from bench.workspace.paths import checked, is_repository_part, is_within, shown
from bench.workspace.protocol import Leaf
from bench.workspace.tree import EXECUTABLE, LINK, REGULAR, Found, Tree

_SHA256_LENGTH = 64


class Contents(Struct, frozen=True):
    """What a source brings: its files and links one after the other, read as they are asked for, and the empty
    folders that stand for submodules. `left_out` is what it holds of a hidden suite, which is not brought.
    """

    files: Iterator[tuple[bytes, Leaf]]
    folders: tuple[bytes, ...]
    left_out: tuple[bytes, ...]


def identity(source: Source) -> str:
    """What a source is, wherever it lies: its commit, or the digest of its folder."""
    return source.commit if isinstance(source, RepositorySource) else source.digest


@contextmanager
def opened(source: Source, excluded: tuple[bytes, ...], scratch: Path, hidden: Hidden) -> Iterator[Contents]:
    """The contents of a source without the excluded paths and without any copy of what is hidden, read with the
    help of a folder in `scratch`. WorkspaceError says what cannot be read.
    """
    if isinstance(source, RepositorySource):
        with _repository_contents(source, excluded, scratch, hidden) as contents:
            yield contents
    else:
        copies = tuple(_copies_in_folder(source.path, excluded, hidden))
        yield Contents(folder_files(source.path, (*excluded, *copies)), (), copies)


def object_folder(path: Path) -> Path:
    """Where a repository keeps its objects: of a work tree, a linked work tree, a submodule or a bare one."""
    git_dir = path / ".git"
    if git_dir.is_file():
        stated = git_dir.read_text(encoding="utf-8", errors="surrogateescape").strip()
        git_dir = path / stated.removeprefix("gitdir:").strip()
    elif not git_dir.is_dir():
        git_dir = path
    common = git_dir / "commondir"
    if common.is_file():
        git_dir = git_dir / common.read_text(encoding="utf-8", errors="surrogateescape").strip()
    if not (git_dir / "HEAD").is_file() or not (git_dir / "objects").is_dir():
        raise WorkspaceError(f"{path} is not a git repository; give the folder that holds its `.git`")
    return git_dir / "objects"


def folder_files(folder: Path, excluded: tuple[bytes, ...] = ()) -> Iterator[tuple[bytes, Leaf]]:
    """The files and links of a plain folder in path order, without any `.git` in it. The folder is only read."""
    if not folder.is_dir():
        raise WorkspaceError(f"{folder} is not a folder; give the folder that holds the files of the task")
    tree = Tree(os.path.realpath(os.fsencode(folder)), ours=False)
    try:
        for each in sorted(tree.walk((b".git", *excluded)), key=lambda each: each.path):
            if not each.folder and not is_repository_part(each.path):
                yield each.path, _tree_leaf(tree, each)
    except OSError as error:
        raise WorkspaceError(f"{folder} cannot be read: {error}") from error


def _copies_in_folder(folder: Path, excluded: tuple[bytes, ...], hidden: Hidden) -> Iterator[bytes]:
    tree = Tree(os.path.realpath(os.fsencode(folder)), ours=False)
    sizes = {len(content) for content in hidden.files}
    try:
        for each in tree.walk((b".git", *excluded)):
            regular = stat.S_ISREG(each.status.st_mode)
            if regular and (_is_manifest(each.path) or each.status.st_size in sizes):
                leaf = tree.read(each.path)
                yield from to_leave_out([(each.path, leaf.content)] if leaf else [], hidden)
    except OSError as error:
        raise WorkspaceError(f"{folder} cannot be read: {error}") from error


def _copies_in_commit(
    reader: Repository, listed: Sequence[Listed], hidden: Hidden, *, sha256: bool
) -> tuple[bytes, ...]:
    names = {_blob_name(content, sha256=sha256) for content in hidden.files}
    asked = [
        entry
        for entry in listed
        if entry.mode not in (GITLINK, LINK) and (entry.name in names or _is_manifest(entry.path))
    ]
    found = zip(asked, read_objects(reader, [entry.name for entry in asked]), strict=True)
    return tuple(to_leave_out([(entry.path, blob.content) for entry, blob in found], hidden)) if asked else ()


def _is_manifest(path: bytes) -> bool:
    return path.rpartition(b"/")[2] == MANIFEST


def _blob_name(content: bytes, *, sha256: bool) -> str:
    """The name that git gives to a file's content."""
    framed = b"blob %d\0" % len(content) + content
    if sha256:
        return hashlib.sha256(framed).hexdigest()
    return hashlib.sha1(framed, usedforsecurity=False).hexdigest()


@contextmanager
def _repository_contents(
    source: RepositorySource, excluded: tuple[bytes, ...], scratch: Path, hidden: Hidden
) -> Iterator[Contents]:
    with TemporaryDirectory(prefix="source-", dir=scratch) as folder:
        sha256 = len(source.commit) == _SHA256_LENGTH
        reader = create_repository(Path(folder) / "git", alternates=object_folder(source.path), sha256=sha256)
        listed = [entry for entry in _listing(reader, source) if not is_within(entry.path, excluded)]
        copies = _copies_in_commit(reader, listed, hidden, sha256=sha256)
        listed = [entry for entry in listed if not is_within(entry.path, copies)]
        files = [entry for entry in listed if entry.mode != GITLINK]
        folders = tuple(entry.path for entry in listed if entry.mode == GITLINK)
        yield Contents(_blobs(reader, source, files), folders, copies)


def _listing(reader: Repository, source: RepositorySource) -> tuple[Listed, ...]:
    try:
        listed = list_tree(reader, source.commit)
    except WorkspaceError as error:
        raise WorkspaceError(
            f"commit {source.commit} ({source.ref}) of {source.path} cannot be read; "
            f"fetch it and its files into that repository ({error})"
        ) from error
    for entry in listed:
        checked(entry.path, f"commit {source.commit} of {source.path}")
    return listed


def _blobs(reader: Repository, source: RepositorySource, files: list[Listed]) -> Iterator[tuple[bytes, Leaf]]:
    blobs = read_objects(reader, [entry.name for entry in files])
    try:
        for entry, blob in zip(files, blobs, strict=True):
            yield entry.path, Leaf(_plain(entry.mode), blob.content)
    except WorkspaceError as error:
        raise WorkspaceError(
            f"commit {source.commit} of {source.path} is not complete; a partial clone must first fetch its "
            f"missing files: git -C {source.path} fetch --refetch ({error})"
        ) from error


def _plain(mode: int) -> int:
    """Old commits hold modes like 100664, which git itself treats so."""
    if mode == LINK:
        return LINK
    return EXECUTABLE if mode & 0o100 else REGULAR


def _tree_leaf(tree: Tree, found: Found) -> Leaf:
    leaf = None if found.special else tree.read(found.path, None)
    if leaf is None:
        raise WorkspaceError(
            f"{shown(tree.at(found.path))!r} is no file, link or folder, or too deep; remove it from the source"
        )
    return leaf

"""What a session changed, as a patch that reproduces it, made outside the agent's reach."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from msgspec import Struct

from bench.digest import digest_bytes, digest_frames
from bench.workspace.git import Repository, create_repository
from bench.workspace.objects import Importer, importing
from bench.workspace.paths import is_patchable
from bench.workspace.protocol import Change, Entry, Leaf, Template, WorkingCopy
from bench.workspace.tree import Tree

MOST_CONTENT = 1024 * 1024 * 1024

_BEFORE = b"refs/heads/before"
_AFTER = b"refs/heads/after"
_DIFF = (
    "diff-tree",
    "-r",
    "--numstat",
    "--patch",
    "--binary",
    "--full-index",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)


class _Touched(Struct, frozen=True):
    """One path before and after a session. `told` is whether a patch can tell the difference."""

    path: bytes
    before: Leaf | None
    after: Leaf | None
    told: bool
    state: bytes


def capture(
    copy: WorkingCopy,
    template: Template,
    limit: int,
    *,
    changed: Sequence[Entry] | None = None,
    room: int = MOST_CONTENT,
) -> Change:
    """The difference between a copy and the state that it started from; the patch is cut after `limit` bytes.
    `changed` is what differs, where that was looked at already.
    The work grows with the change, not with the repository, and no program runs if nothing changed. Content
    beyond `room` bytes, before and after taken together, is not read: its paths count as special.
    """
    entries = copy.entries() if changed is None else changed
    if not entries:
        return _change((), (), (0, 0), b"", truncated=False)
    with TemporaryDirectory(prefix="capture-", dir=template.tree.parent) as folder:
        repository = create_repository(Path(folder) / "git")
        touched = _store(repository, _touched(entries, copy, Tree(os.fsencode(template.tree)), room))
        counts, patch = _compare(repository, limit)
    complete = len(patch) <= limit and all(told for told, _ in touched)
    states = [state for _, state in touched]
    return _change([entry.path for entry in entries], states, counts, patch[:limit], truncated=not complete)


def _change(
    paths: Iterable[bytes], states: Iterable[bytes], counts: tuple[int, int], patch: bytes, *, truncated: bool
) -> Change:
    listed = tuple(paths)
    frames = (part for pair in zip(listed, states, strict=True) for part in pair)
    return Change(
        paths=listed,
        insertions=counts[0],
        deletions=counts[1],
        patch=patch,
        truncated=truncated,
        fingerprint=digest_frames(frames),
    )


def _touched(entries: Iterable[Entry], copy: WorkingCopy, original: Tree, room: int) -> Iterator[_Touched]:
    """Both sides of every changed path, one after the other, as long as there is room for their content."""
    for entry in entries:
        known = entry.kind in ("modified", "deleted") and room > 0
        wanted = entry.kind in ("added", "modified") and room > 0
        before = original.read(entry.path) if known else None
        after = copy.leaf(entry.path) if wanted else None
        room -= sum(len(leaf.content) for leaf in (before, after) if leaf)
        expected = (entry.kind != "added", entry.kind != "deleted")
        told = expected == (before is not None, after is not None) and is_patchable(entry.path)
        yield _Touched(entry.path, before, after, told, _state(entry, after))


def _state(entry: Entry, after: Leaf | None) -> bytes:
    """What is now at a path, for the fingerprint."""
    if after is None:
        return b"deleted" if entry.kind == "deleted" else b"special"
    return b"%o %s" % (after.mode, digest_bytes(after.content).encode("ascii"))


def _store(repository: Repository, touched: Iterable[_Touched]) -> list[tuple[bool, bytes]]:
    """Write two commits that hold the touched paths alone, before and after. Returns whether each path is in
    them, and its state.
    """
    before: list[tuple[bytes, int, int]] = []
    after: list[tuple[bytes, int, int]] = []
    summary = []
    with importing(repository) as importer:
        for each in touched:
            if each.told:
                before.extend(_blob(importer, each.path, each.before))
                after.extend(_blob(importer, each.path, each.after))
            summary.append((each.told, each.state))
        importer.commit(_BEFORE, before)
        importer.commit(_AFTER, after)
    return summary


def _blob(importer: Importer, path: bytes, leaf: Leaf | None) -> Iterator[tuple[bytes, int, int]]:
    if leaf is not None:
        yield path, leaf.mode, importer.blob(leaf.content)


def _compare(repository: Repository, limit: int) -> tuple[tuple[int, int], bytes]:
    """Lines added and removed, and the patch, or its first `limit` + 1 bytes."""
    with repository.stream(*_DIFF, _BEFORE, _AFTER) as running:
        running.stdin.close()
        counts = _counts(running.stdout)
        patch = running.stdout.read(limit + 1)
        if len(patch) > limit:
            running.abandon()
    return counts, patch


def _counts(stream: IO[bytes]) -> tuple[int, int]:
    """The sums of `--numstat`, which ends with an empty line; a binary file has `-` for a number."""
    insertions = deletions = 0
    for line in iter(stream.readline, b""):
        if line == b"\n":
            break
        added, removed, _ = line.split(b"\t", 2)
        insertions += int(added) if added != b"-" else 0
        deletions += int(removed) if removed != b"-" else 0
    return insertions, deletions

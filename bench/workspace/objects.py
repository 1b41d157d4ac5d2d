"""Objects of git, read and written in one pass each."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO

from msgspec import Struct

from bench.errors import WorkspaceError
from bench.workspace.git import IDENTITY, MOMENT, Repository, Running, quoted

GITLINK = 0o160000


class Listed(Struct, frozen=True):
    """One entry of a tree: a file, a link, or a submodule (whose object is elsewhere)."""

    mode: int
    name: str
    path: bytes


class Object(Struct, frozen=True):
    """One object of a repository, whole."""

    name: str
    kind: bytes
    content: bytes


def list_tree(repository: Repository, tree: str, *options: str) -> tuple[Listed, ...]:
    """All entries below a commit or tree, in git's order. Option `-t` adds the inner trees themselves."""
    listing = repository.run("ls-tree", "-r", "-z", "--full-tree", *options, tree)
    return tuple(_listed(record) for record in listing.split(b"\0")[:-1])


def read_objects(repository: Repository, names: Sequence[str]) -> Iterator[Object]:
    """The objects of these names, in this order; WorkspaceError if one is missing."""
    with TemporaryFile() as asked:
        asked.write("".join(f"{name}\n" for name in names).encode())
        asked.seek(0)
        with repository.stream("cat-file", "--batch", "--buffer", stdin=asked) as running:
            for _ in names:
                yield _read_object(running.stdout)


def all_objects(repository: Repository) -> Iterator[Object]:
    """Every object of the repository, reachable or not."""
    with repository.stream(
        "cat-file", "--batch-all-objects", "--batch", "--unordered", "--buffer", stdin=None
    ) as running:
        running.stdin.close()
        while running.stdout.peek(1):  # type: ignore[attr-defined]
            yield _read_object(running.stdout)


class Importer:
    """Writes blobs and commits into a repository through `git fast-import`, into one pack."""

    def __init__(self, running: Running) -> None:
        self._out = running.stdin
        self._marks = 0

    def blob(self, content: bytes) -> int:
        """Store a blob. Returns its mark for `commit`."""
        self._marks += 1
        self._out.write(b"blob\nmark :%d\ndata %d\n" % (self._marks, len(content)))
        self._out.write(content)
        self._out.write(b"\n")
        return self._marks

    def commit(self, reference: bytes, files: Iterable[tuple[bytes, int, int]]) -> None:
        """Make a parentless commit of files, each a path, a mode and a mark, with a fixed identity and date."""
        self._out.write(b"commit %s\ncommitter %s %d +0000\ndata 5\nStart\n" % (reference, IDENTITY, MOMENT))
        for path, mode, mark in files:
            self._out.write(b"M %06o :%d %s\n" % (mode, mark, quoted(path)))
        self._out.write(b"\n")


@contextmanager
def importing(repository: Repository) -> Iterator[Importer]:
    """An importer whose blobs and commits are in the repository when the block has ended."""
    options = ("--quiet", "--done", "--depth=0", "--date-format=raw")
    with repository.stream("fast-import", *options) as running:
        yield Importer(running)
        running.stdin.write(b"done\n")


def _listed(record: bytes) -> Listed:
    described, _, path = record.partition(b"\t")
    mode, _, name = described.split(b" ")
    return Listed(int(mode, 8), os.fsdecode(name), path)


def _read_object(stream: IO[bytes]) -> Object:
    header = stream.readline().split()
    if len(header) != 3:  # noqa: PLR2004 - name, kind, size; else "name missing"
        raise WorkspaceError(
            f"an object cannot be read: git says {b' '.join(header).decode('utf-8', 'replace')!r}"
        )
    name, kind, size = header
    content = stream.read(int(size))
    stream.read(1)
    return Object(name.decode("ascii"), kind, content)

"""What lies in an object store, by the look of it: objects, and what nobody calls one."""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from bench.errors import RunError

_SHARD = re.compile(r"[0-9a-f]{2}")
_REST = re.compile(r"[0-9a-f]{62}")


class StoredObject(Struct, frozen=True):
    """A file that is named like an object. Its content is another question."""

    digest: str
    path: Path
    size: int


class Contents(Struct, frozen=True):
    """All of a store: its objects by digest, and everything else that lies there."""

    objects: dict[str, StoredObject]
    strays: tuple[Path, ...]

    @property
    def size(self) -> int:
        """Bytes of all objects."""
        return sum(each.size for each in self.objects.values())


def read_contents(store: Path) -> Contents:
    """What a store holds; nothing if there is none. Links are not followed. RunError if it cannot be read."""
    objects: dict[str, StoredObject] = {}
    strays: list[Path] = []
    try:
        for shard in _entries(store):
            if not (_SHARD.fullmatch(shard.name) and shard.is_dir(follow_symlinks=False)):
                strays.append(Path(shard.path))
                continue
            for entry in _entries(Path(shard.path)):
                if _REST.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    digest, size = shard.name + entry.name, entry.stat(follow_symlinks=False).st_size
                    objects[digest] = StoredObject(digest, Path(entry.path), size)
                else:
                    strays.append(Path(entry.path))
    except OSError as error:
        raise RunError(f"the object store {store} cannot be read: {error}") from error
    return Contents(objects, tuple(strays))


def content_digest(path: Path) -> str:
    """SHA-256 of a file, read in pieces. OSError if it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    if not folder.exists():
        return
    with os.scandir(folder) as entries:
        yield from sorted(entries, key=lambda entry: entry.name)

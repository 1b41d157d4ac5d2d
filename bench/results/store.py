"""The object store: artifacts kept by the SHA-256 of their bytes."""

import errno
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from bench.digest import digest_bytes
from bench.durable import sync_folder
from bench.errors import RunError
from bench.results.row import Artifact

_DIGEST = re.compile(r"[0-9a-f]{64}")
_UNFINISHED = ".unfinished-"
_CHUNK = 1 << 20
# neither through a link nor waiting for whoever writes to a pipe
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Damage(Struct, frozen=True, order=True):
    """An object that is not what its name says, or not there."""

    digest: str
    problem: Literal["missing", "changed"]


class ObjectStore:
    """Artifacts in `folder`, sharded by the first two digits: `ab/cdef…`. Objects never change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, content: bytes) -> Artifact:
        """Keep `content`, on the disk before this returns. An object that was damaged is written anew."""
        artifact = Artifact(digest_bytes(content), len(content))
        path = self._path(artifact.digest)
        try:
            if not (path.is_file() and path.read_bytes() == content):
                self._write(path, content)
        except OSError as error:
            raise RunError(
                f"cannot write {path}: {error.strerror}\n"
                "  free some space or fix the permissions, then go on with the run: evolve resume, or bench resume"
            ) from error
        return artifact

    def get(self, digest: str) -> bytes:
        """The bytes that have this digest, re-hashed. RunError if they are missing or changed."""
        path = self._path(digest)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise RunError(f"object {digest} cannot be read from {self.folder}: {error.strerror}") from error
        if digest_bytes(content) != digest:
            raise RunError(f"object {digest} in {self.folder} was changed\n  restore {path} from a copy")
        return content

    def damage(self, artifact: Artifact) -> Damage | None:
        """What is wrong with the object of an artifact: nothing, if a plain file has its size and its digest."""
        try:
            # not through a path object, which costs more than the hashing: a sweep may look at a million
            descriptor = os.open(self._path(artifact.digest), _READ)
        except OSError as error:
            return Damage(artifact.digest, "changed" if error.errno == errno.ELOOP else "missing")
        try:
            sound = _is_whole(descriptor, artifact)
        except OSError:
            return Damage(artifact.digest, "missing")
        finally:
            os.close(descriptor)
        return None if sound else Damage(artifact.digest, "changed")

    def holds(self, digest: str) -> bool:
        """Whether the object is there, and is what its name says."""
        return _is(self._path(digest), digest)

    def remove_unfinished(self) -> None:
        """Remove what writers left that were killed; nobody else may be writing meanwhile."""
        for path in self.folder.glob(f"??/{_UNFINISHED}*"):
            path.unlink(missing_ok=True)

    def verify(self, referenced: Iterable[Artifact] = ()) -> tuple[Damage, ...]:
        """Re-hash every object; what was changed, and what of `referenced` is missing."""
        found = dict(self._objects())
        changed = {Damage(digest, "changed") for digest, path in found.items() if not _is(path, digest)}
        missing = {Damage(each.digest, "missing") for each in referenced if each.digest not in found}
        return tuple(sorted(changed | missing))

    def _path(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise RunError(f"{digest!r} is not the SHA-256 of an object")
        return Path(f"{self.folder}/{digest[:2]}/{digest[2:]}")

    def _objects(self) -> Iterator[tuple[str, Path]]:
        """Every object with the digest that its place claims; a file that a crash left unfinished is none."""
        for path in sorted(self.folder.glob("??/*")):
            if not path.name.startswith(_UNFINISHED):
                yield path.parent.name + path.name, path

    def _write(self, path: Path, content: bytes) -> None:
        new_shard = not path.parent.is_dir()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(prefix=_UNFINISHED, dir=path.parent)  # mode 0600
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
        if new_shard:
            sync_folder(self.folder)


def _is_whole(descriptor: int, artifact: Artifact) -> bool:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size != artifact.size:
        return False
    digest = hashlib.sha256()
    while content := os.read(descriptor, _CHUNK):
        digest.update(content)
    return digest.hexdigest() == artifact.digest


def _is(path: Path, digest: str) -> bool:
    return path.is_file() and digest_bytes(path.read_bytes()) == digest

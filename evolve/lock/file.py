"""The lock of a generation as a file: written at once or not at all, believed only if it is as it was written."""

from pathlib import Path

import msgspec
from msgspec import structs

from bench.digest import canonical_json
from bench.disk import write_whole
from bench.errors import RunError
from bench.strict_json import parse_json
from evolve.errors import LockError
from evolve.lock.drift import observed_digest, sealed_digest
from evolve.lock.model import LOCK, LOCK_VERSION, GenerationLock, Observed, Sealed

_OTHERWISE = "\n  take the original from a copy; what it says cannot be believed"


class _Version(msgspec.Struct):
    schema_version: int


def write_lock(folder: Path, sealed: Sealed) -> GenerationLock:
    """Seal what a generation read, before its first cell."""
    lock = GenerationLock(schema_version=LOCK_VERSION, digest=sealed_digest(sealed), sealed=sealed)
    _write(folder / LOCK, lock)
    return lock


def add_observed(folder: Path, observed: Observed) -> None:
    """Add what came out; a generation that was begun by a version without locks stays without."""
    if not (folder / LOCK).exists():
        return
    lock = structs.replace(read_lock(folder / LOCK), observed=observed, observed_digest=None)
    _write(folder / LOCK, structs.replace(lock, observed_digest=observed_digest(lock)))


def read_lock(path: Path) -> GenerationLock:
    """The lock in a file. LockError if there is none, or it was edited, is incomplete, or of another version."""
    lock, content = _decoded(path)
    if lock.digest != sealed_digest(lock.sealed):
        raise LockError(f"{path} was edited: what it seals is not what its digest says{_OTHERWISE}")
    if (lock.observed is None) != (lock.observed_digest is None):
        raise LockError(
            f"{path} is incomplete: what was observed, and its digest, belong together{_OTHERWISE}"
        )
    if lock.observed is not None and lock.observed_digest != observed_digest(lock):
        raise LockError(f"{path} was edited: what was observed is not what its digest says{_OTHERWISE}")
    if content != canonical_json(lock) + b"\n":
        raise LockError(f"{path} is not as it was written: it was edited{_OTHERWISE}")
    return lock


def finished(path: Path, lock: GenerationLock) -> Observed:
    """What was observed. LockError for a generation that was not decided."""
    if lock.observed is None:
        raise LockError(
            f"{path} is that of a generation without a decision: it was interrupted\n"
            f"  go on with it first: evolve resume {lock.sealed.run}"
        )
    return lock.observed


def _decoded(path: Path) -> tuple[GenerationLock, bytes]:
    try:
        content = path.read_bytes()
        parse_json(content)
        version = msgspec.json.decode(content, type=_Version).schema_version
        if version != LOCK_VERSION:
            newer = "a newer" if version > LOCK_VERSION else "another"
            raise LockError(
                f"{path} is of {newer} version of incumbent: schema_version {version}, only {LOCK_VERSION} is known\n"
                "  use the version that wrote it"
            )
        return msgspec.json.decode(content, type=GenerationLock), content
    except FileNotFoundError as error:
        raise LockError(
            f"there is no {path}: the generation was never sealed, or by a version without locks\n"
            "  restore it from a copy, or run the generation again"
        ) from error
    except OSError as error:
        raise LockError(f"{path} cannot be read: {error.strerror}") from error
    except msgspec.ValidationError as error:
        raise LockError(f"{path} is incomplete, or was edited: {error}{_OTHERWISE}") from error
    except (ValueError, RecursionError) as error:
        raise LockError(f"{path} is no lock: {error}{_OTHERWISE}") from error


def _write(path: Path, lock: GenerationLock) -> None:
    try:
        write_whole(path, canonical_json(lock) + b"\n")
    except ValueError as error:  # a number of the configuration that JSON has no word for
        raise RunError(f"{path} cannot be written: {error}") from error

"""What an exported run is made of: every file with its size and digest, and where it may go. Pure."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Literal

import msgspec
from msgspec import Struct

from bench.digest import canonical_json
from bench.errors import RunError
from bench.text import printable

MANIFEST = "manifest.json"
MANIFEST_VERSION = 1
RUN, OBJECTS = "run", "objects"
LONGEST = 200  # of a path in a run, in bytes: with its folder it fits the header of a plain tar archive
LARGEST = 64 * 1024 * 1024  # of a manifest, in bytes

_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-zA-Z][0-9a-zA-Z-]{0,60}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_BAD = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")


class Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of the archive: its place there, its size in bytes and the SHA-256 of its content."""

    path: str
    size: int
    digest: str


class Manifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first file of an archive (schemas/export-manifest.schema.json)."""

    schema_version: Literal[1]
    run: str
    files: tuple[Entry, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(each.size for each in self.files)


class _Version(Struct, frozen=True):
    schema_version: int


def object_path(digest: str) -> str:
    """Where an object lies in the archive, and in a store below its folder."""
    return f"{OBJECTS}/{digest[:2]}/{digest[2:]}"


def manifest_bytes(manifest: Manifest) -> bytes:
    """The manifest as the archive holds it. RunError for a run that no archive can hold."""
    problem = next(_problems(manifest), None)
    if problem is not None:
        raise RunError(f"run {printable(manifest.run)} cannot be exported: {problem}")
    return canonical_json(manifest) + b"\n"


def read_manifest(content: bytes, archive: str) -> Manifest:
    """The manifest of an archive. RunError if it is none, of another version, or wants a file in a wrong place."""
    try:
        version = msgspec.json.decode(content, type=_Version).schema_version
        if version != MANIFEST_VERSION:
            raise RunError(
                f"{archive}: schema_version {version} is not supported, only {MANIFEST_VERSION} is\n"
                f"  import it with the version of incumbent that wrote it"
            )
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunError(f"{archive} holds no exported run: {MANIFEST}: {error}") from error
    problem = next(_problems(manifest), None)
    if problem is not None:
        raise RunError(f"{archive} is refused: {problem}\n  it was not written by `bench store export`")
    return manifest


def _problems(manifest: Manifest) -> Iterator[str]:
    if not _ID.fullmatch(manifest.run):
        yield f"{printable(manifest.run)!r} is not the name of a run"
    paths = [each.path for each in manifest.files]
    folders = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    if len(set(paths)) != len(paths) or not folders.isdisjoint(paths):
        yield "it has two files in one place"
    for each in manifest.files:
        if not _is_allowed(each):
            yield f"{printable(each.path)!r} is no place for a file of a run"
        if each.size < 0 or not _DIGEST.fullmatch(each.digest):
            yield f"size or digest of {printable(each.path)!r} is none"


def _is_allowed(entry: Entry) -> bool:
    parts = entry.path.split("/")
    if parts[0] == OBJECTS:
        return entry.path == object_path(entry.digest)
    plain = all(part not in {"", ".", ".."} for part in parts) and not _BAD.search(entry.path)
    return plain and parts[0] == RUN and len(parts) > 1 and len(entry.path.encode()) <= LONGEST

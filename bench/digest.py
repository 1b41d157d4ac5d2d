"""The one digest: SHA-256 over canonical bytes. Identity is content, never a path or a time."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

_encoder = msgspec.json.Encoder(order="sorted")


def canonical_json(value: Any) -> bytes:
    """Canonical JSON of plain data or structs: sorted keys, no blanks, UTF-8. NaN and infinities are refused."""
    return _encoder.encode(_finite(msgspec.to_builtins(value, order="sorted")))


def digest_bytes(content: bytes) -> str:
    """Hexadecimal SHA-256 of `content`."""
    return hashlib.sha256(content).hexdigest()


def digest_json(value: Any) -> str:
    """Digest of a value's canonical JSON."""
    return digest_bytes(canonical_json(value))


def digest_frames(frames: Iterable[bytes]) -> str:
    """Digest of a sequence of byte strings, each framed by its length, so that no two sequences collide."""
    state = hashlib.sha256()
    for frame in frames:
        state.update(len(frame).to_bytes(8, "big"))
        state.update(frame)
    return state.hexdigest()


def digest_files(files: Mapping[str, bytes]) -> str:
    """Digest of files by path: length-framed path and content, in path order."""
    ordered = sorted((path.encode("utf-8", "surrogateescape"), content) for path, content in files.items())
    return digest_frames(part for pair in ordered for part in pair)


def digest_tree(folder: Path, *, suffixes: tuple[str, ...] | None = None) -> str:
    """Digest of the regular files below `folder` (all, or those with one of the suffixes)."""
    return digest_files(
        {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and (suffixes is None or path.suffix in suffixes)
        }
    )


def _finite(value: Any) -> Any:
    """`value`, or ValueError when it holds a number that JSON cannot write."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):  # noqa: PLR0124
        raise ValueError(f"{value} cannot be written as JSON")
    if isinstance(value, dict):
        for item in value.values():
            _finite(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _finite(item)
    return value

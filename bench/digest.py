"""The one digest: SHA-256 over canonical bytes. Identity is content, never a path or a time."""

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

_encoder = msgspec.json.Encoder(order="sorted")

# How msgpack writes a number that is not finite. The same bytes can be part of an integer, never of text.
_NOT_FINITE = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")


def canonical_json(value: Any) -> bytes:
    """Canonical JSON of plain data or structs: sorted keys, no blanks, UTF-8. NaN and infinities are refused."""
    if _may_hold_non_finite(value):
        _refuse_non_finite(msgspec.to_builtins(value))
    return _encoder.encode(value)


def digest_bytes(content: bytes) -> str:
    """Hexadecimal SHA-256 of `content`."""
    return hashlib.sha256(content).hexdigest()


def digest_file(path: Path) -> str:
    """Hexadecimal SHA-256 of a file's bytes, however large it is."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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


def _may_hold_non_finite(value: Any) -> bool:
    """False if a value certainly holds only numbers that JSON can write; much quicker than looking at each."""
    try:
        return _NOT_FINITE.search(msgspec.msgpack.encode(value)) is not None
    except OverflowError:  # an integer of more than 64 bits, which JSON can write
        return True


def _refuse_non_finite(value: Any) -> None:
    """ValueError when a value of plain data holds a number that JSON cannot write."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} cannot be written as JSON")
    for item in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    ):
        _refuse_non_finite(item)

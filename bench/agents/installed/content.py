"""The identity of an installed program, and a quick sign that it is still the same."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.digest import digest_file, digest_json


def content_digest(path: Path) -> str:
    """The identity of a program: of a file its bytes, of a folder its files, links and what can be executed."""
    if not path.is_dir():
        return digest_file(path)
    return digest_json([_identity(name, each) for name, each in _walk(path)])


def stamp_of(path: Path) -> str:
    """Sizes, times and modes of all files: another stamp means that the digest has to be looked at."""
    entries = _walk(path) if path.is_dir() else iter([("", path)])
    return digest_json([_signs(name, each) for name, each in entries])


def _walk(folder: Path) -> Iterator[tuple[str, Path]]:
    found = [Path(parent, name) for parent, folders, names in os.walk(folder) for name in (*folders, *names)]
    named = ((each.relative_to(folder).as_posix(), each) for each in found)
    return iter(sorted((name, each) for name, each in named if each.is_symlink() or each.is_file()))


def _identity(name: str, path: Path) -> list[Any]:
    if path.is_symlink():
        return [name, "link", os.fspath(path.readlink())]
    return [name, "program" if os.access(path, os.X_OK) else "file", digest_file(path)]


def _signs(name: str, path: Path) -> list[Any]:
    found = path.lstat()
    return [name, found.st_mode, found.st_size, found.st_mtime_ns]

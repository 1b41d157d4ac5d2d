"""The digest of a file or folder that a task brings along: its files, their modes, its links."""

import os
from pathlib import Path, PurePosixPath

from bench.digest import digest_frames
from bench.suite.files import Entry, Refused, hash_file, list_entries, shown

MOST_ENTRIES = 100_000
MOST_BYTES = 2 << 30


def digest_source(source: Path, *, without: Path | None = None, allow_git: bool = False) -> str:
    """Digest of a regular file, or of every file, folder and link below a folder; of a mode, only "executable".

    Refused: special files, links that leave the folder, `.git` unless allowed, more than 100,000 entries or
    2 GiB. `without` is a folder that is passed over.
    """
    if source.is_symlink() or not source.exists():
        raise Refused("is a symbolic link" if source.is_symlink() else "does not exist")
    if not source.is_dir():
        content, _ = hash_file(source.parent, source.name, MOST_BYTES)
        return digest_frames((_mark(executable=os.access(source, os.X_OK)), content))
    entries = list_entries(source, MOST_ENTRIES, without)
    problems = [problem for entry in entries if (problem := _problem(source, entry, allow_git=allow_git))]
    if problems:
        raise Refused(*problems)
    return _digest_entries(source, entries)


def _digest_entries(folder: Path, entries: tuple[Entry, ...]) -> str:
    frames: list[bytes] = []
    left = MOST_BYTES
    for entry in entries:
        frames.append(os.fsencode(entry.path))
        if entry.kind == "file":
            content, size = _hash(folder, entry.path, left)
            left -= size
            frames += (_mark(executable=entry.executable), content)
        elif entry.kind == "link":
            frames += (b"link", os.fsencode(_target(folder, entry.path)))
        else:
            frames += (b"folder", b"")
    return digest_frames(frames)


def _hash(folder: Path, path: str, left: int) -> tuple[bytes, int]:
    try:
        return hash_file(folder, path, left)
    except Refused as refusal:
        raise Refused(f"holds `{shown(path)}`, which {refusal}") from refusal


def _mark(*, executable: bool) -> bytes:
    return b"executable" if executable else b"file"


def _problem(folder: Path, entry: Entry, *, allow_git: bool) -> str | None:
    name = f"holds `{shown(entry.path)}`"
    if entry.kind == "special":
        return f"{name}, which is neither a file, a folder nor a link"
    if not allow_git and PurePosixPath(entry.path).name == ".git":
        return f"{name}: it is a git repository; a task's source names one with `repository` and `ref`"
    if entry.kind == "link" and _leaves(folder, entry.path):
        return f"{name}, a symbolic link that leaves the folder"
    return None


def _leaves(folder: Path, path: str) -> bool:
    """True when the link at `path` would mean something else once the folder is copied elsewhere."""
    landing = Path(os.path.realpath(folder / path))
    return _target(folder, path).startswith("/") or not landing.is_relative_to(os.path.realpath(folder))


def _target(folder: Path, path: str) -> str:
    return os.readlink(folder / path)  # noqa: PTH115 - a Path would tidy the target up

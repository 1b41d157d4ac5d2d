"""Overlays on disk: reading what a proposer left, writing one, freezing one for good."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from bench.digest import digest_files
from bench.durable import sync_folder
from bench.errors import OverlayError
from bench.skills.model import Overlay
from bench.skills.overlay import (
    MOST_BYTES,
    MOST_FILES,
    Skills,
    make_overlay,
    path_problems,
    refuse,
    skill_folders,
)
from bench.skills.refusal import size_problems
from bench.suite import Entry, Refused, check_path, list_entries, read_file, shown

MOST_ENTRIES = 256


def read_overlay(folder: Path, skills: Skills) -> Overlay:
    """The overlay in `folder`, for the declared skills; nothing in it is followed, executed or trusted.

    OverlayError lists everything that is refused, as `make_overlay` does, and links, special files and
    more than 256 entries.
    """
    place = f"the overlay {shown(folder)}"
    refuse(_root_problems(folder), place)
    try:
        entries = list_entries(folder, MOST_ENTRIES)
    except Refused as refusal:
        refuse(refusal.problems, place)
        raise
    refuse(_entry_problems(entries, skill_folders(skills)), place)
    files = _read(folder, [entry.path for entry in entries if entry.kind == "file"], place)
    return make_overlay(files, skills, place)


def write_overlay(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by canonical path into a new or empty folder; OverlayError when it cannot be done."""
    place = shown(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if folder.is_symlink() or any(folder.iterdir()):
            raise OverlayError(f"{place} is in use: an overlay is written into a new or empty folder")
        for path, content in files.items():
            _write(folder / check_path(path), content, 0o644)
    except (OSError, Refused) as error:
        raise OverlayError(f"the overlay cannot be written to {place}: {error}") from error


def freeze_overlay(overlay: Overlay, destination: Path) -> None:
    """Write a read-only copy (files 0400, folders 0500) to a folder that does not exist, and read it back.

    OverlayError when it cannot be written or what was read back has another digest.
    """
    place = shown(destination)
    try:
        destination.mkdir(parents=True)
        for path, content in overlay.files.items():
            _write(destination / check_path(path), content, 0o400)
        for inner in sorted([destination, *destination.rglob("*")], reverse=True):
            if inner.is_dir():
                inner.chmod(0o500)
                sync_folder(inner)
        sync_folder(destination.parent)
    except FileExistsError as error:
        raise OverlayError(f"{place} exists already; an overlay is frozen once, into a new folder") from error
    except (OSError, Refused) as error:
        raise OverlayError(f"the overlay cannot be frozen to {place}: {error}") from error
    if digest_files(_read(destination, overlay.files, place)) != overlay.digest:
        raise OverlayError(f"the frozen copy {place} is not what was written: something changed it meanwhile")


def _root_problems(folder: Path) -> list[str]:
    """What is wrong with where the overlay is: a link on the way could lead anywhere, now or later."""
    absolute = Path(os.path.abspath(folder))  # noqa: PTH100 - resolving would hide the links
    links = [part for part in (absolute, *absolute.parents) if part.is_symlink()]
    if links:
        return [f"{shown(links[-1])} is a symbolic link; name the real folder"]
    return [] if absolute.is_dir() else ["it is not a folder that exists"]


def _entry_problems(entries: tuple[Entry, ...], folders: Mapping[str, str]) -> list[str]:
    """What can be refused before anything is read."""
    problems: list[str] = []
    for entry in entries:
        if entry.kind == "file":
            problems += path_problems(entry.path, folders)
        elif entry.kind != "folder":
            what = "symbolic link" if entry.kind == "link" else "special file"
            problems.append(f"{shown(entry.path)} is a {what}; an overlay holds regular files")
    sizes = [entry.size for entry in entries if entry.kind == "file"]
    return [*problems, *size_problems(sizes, MOST_FILES, MOST_BYTES)]


def _read(folder: Path, paths: Iterable[str], place: str) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    problems: list[str] = []
    for path in paths:
        try:
            files[path] = read_file(folder, path, MOST_BYTES)
        except Refused as refusal:
            problems.append(f"{shown(path)} {refusal}")
    refuse(problems, place)
    return files


def _write(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())

"""New bytes and a backup beside every destination, whole and on the disk before anything is exchanged."""

import os
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from bench.suite import Refused
from evolve.apply.exchange import explained
from evolve.apply.folders import FileState, Folders, name_of, parent_of, read_state
from evolve.apply.model import Change, Step, Tools
from evolve.apply.names import UNFINISHED, temporary_name
from evolve.errors import ApplyError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Temporary(Struct, frozen=True):
    """A temporary file beside the destination `path`, and the state in which it was left."""

    path: str
    folder: int
    name: str
    state: FileState


class Staged(Struct, frozen=True):
    """A change that is ready: its destination's state, `slot` with the new bytes, `backup` with the old ones."""

    change: Change
    folder: int
    name: str
    before: FileState
    slot: Temporary
    backup: Temporary


def stage_all(
    folders: Folders, changes: Sequence[Change], tools: Tools, temporaries: list[Temporary]
) -> tuple[Staged, ...]:
    """Every change made ready. `temporaries` gets each file as soon as it is there, for whoever must clean up."""
    found = [_destination(folders, change) for change in changes]
    staged = tuple(_stage(change, folder, before, tools, temporaries) for change, folder, before in found)
    folders.sync()
    return staged


def _stage(
    change: Change, folder: int, before: FileState, tools: Tools, temporaries: list[Temporary]
) -> Staged:
    def made(kind: Literal["exchange", "backup"], content: bytes) -> Temporary:
        name = temporary_name(change, kind, tools.token)
        temporary = Temporary(change.path, folder, name, _write(change.path, folder, name, content, before))
        temporaries.append(temporary)
        tools.observe(Step("staged", change.path))
        return temporary

    slot, backup = made("exchange", change.after), made("backup", change.before)
    return Staged(change, folder, name_of(change.path), before, slot, backup)


def check_unchanged(staged: Staged) -> None:
    """ApplyError unless destination, new bytes and backup are all as they were staged."""
    for name, expected in (
        (staged.name, staged.before),
        (staged.slot.name, staged.slot.state),
        (staged.backup.name, staged.backup.state),
    ):
        if not is_in_state(staged.folder, name, expected):
            raise ApplyError(f"{staged.change.path} or a temporary file beside it was changed meanwhile")


def is_in_state(folder: int, name: str, expected: FileState) -> bool:
    """Whether an entry is exactly this file, with these bytes and permissions."""
    try:
        return read_state(folder, name) == expected
    except Refused:
        return False


def _destination(folders: Folders, change: Change) -> tuple[Change, int, FileState]:
    try:
        folder = folders.hold(parent_of(change.path))
        state = read_state(folder, name_of(change.path))
    except Refused as refusal:
        raise ApplyError(f"{change.path} {refusal}") from refusal
    if state.content != change.before:
        raise ApplyError(f"{change.path} was changed meanwhile")
    return change, folder, state


def _write(path: str, folder: int, name: str, content: bytes, like: FileState) -> FileState:
    """A new file with the permissions and owner of `like`. It has its name only once it is whole and on the disk."""
    unfinished = name + UNFINISHED
    try:
        descriptor = os.open(unfinished, _NEW, 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                status = _made_like(file.fileno(), like)
                os.fsync(file.fileno())
            os.rename(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(unfinished, dir_fd=folder)
            raise
    except OSError as error:
        raise explained(error, path) from error
    return FileState((status.st_dev, status.st_ino), like.mode, like.owner, content)


def _made_like(descriptor: int, like: FileState) -> os.stat_result:
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) != like.owner:
        os.fchown(descriptor, *like.owner)
    os.fchmod(descriptor, like.mode)
    return status

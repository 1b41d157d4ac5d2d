"""What `bench store` prints with --json."""

from typing import Literal

from msgspec import Struct


class BrokenObject(Struct, frozen=True, order=True):
    """An artifact that is not what a row or its own name says; `runs` are those that refer to it."""

    digest: str
    problem: Literal["missing", "changed", "wrong-size", "unreadable"]
    runs: tuple[str, ...]


class UnreadableRun(Struct, frozen=True, order=True):
    """A run whose rows cannot be read, so that nobody can say whether its artifacts are there."""

    run: str
    why: str


class StoreReport(Struct, frozen=True, kw_only=True):
    """`bench store verify`. `sound` is false if anything is broken or unreadable; orphans harm nobody."""

    sound: bool
    store: str
    objects: int
    size: int
    runs: int
    referenced: int
    missing: int
    changed: int
    orphans: int
    orphans_size: int
    broken: tuple[BrokenObject, ...]
    unreadable: tuple[UnreadableRun, ...]
    strays: tuple[str, ...]


class CollectReport(Struct, frozen=True, kw_only=True):
    """`bench store gc`: what was removed, or would be with `dry_run`; `forgotten` are runs that lose artifacts."""

    dry_run: bool
    kept: tuple[str, ...]
    forgotten: tuple[str, ...]
    removed: int
    removed_size: int
    leftovers: int
    left: int
    left_size: int


class ExportReport(Struct, frozen=True, kw_only=True):
    """`bench store export`."""

    run: str
    file: str
    size: int
    digest: str
    files: int
    objects: int


class ImportReport(Struct, frozen=True, kw_only=True):
    """`bench store import`. `outcome` says whether the run was there already; `objects` are those that were new."""

    run: str
    folder: str
    outcome: Literal["imported", "already-there"]
    files: int
    objects: int

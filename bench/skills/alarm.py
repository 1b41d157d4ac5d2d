"""An alarm: two arms that left exactly the same change may have seen each other's work."""

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct


class ArmChange(Struct, frozen=True):
    """What one cell left: the fingerprint of its change, None when it changed nothing."""

    task: str
    arm: str
    repeat: int
    fingerprint: str | None


class IdenticalChange(Struct, frozen=True):
    """One change that cells (arm, repeat) of different arms of a task all left."""

    task: str
    fingerprint: str
    cells: tuple[tuple[str, int], ...]


def identical_changes(changes: Iterable[ArmChange]) -> tuple[IdenticalChange, ...]:
    """The changes that more than one arm of a task left, by task and fingerprint."""
    found: defaultdict[tuple[str, str], set[tuple[str, int]]] = defaultdict(set)
    for change in changes:
        if change.fingerprint is not None:
            found[change.task, change.fingerprint].add((change.arm, change.repeat))
    return tuple(
        IdenticalChange(task, fingerprint, tuple(sorted(cells)))
        for (task, fingerprint), cells in sorted(found.items())
        if len({arm for arm, _ in cells}) > 1
    )

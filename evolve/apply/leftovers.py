"""Temporary files that an apply left when it was killed or could not go back: what they hold, and what to do."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from bench.suite import Refused
from evolve.apply.folders import Folders, id_of, read_state
from evolve.apply.model import Holds, Leftover
from evolve.apply.names import RECOVERY_PREFIX, TemporaryName, read_name, short
from evolve.errors import ApplyError

_OURS: frozenset[Holds] = frozenset({"candidate", "incumbent"})
_WORTHLESS: frozenset[Holds] = _OURS | {"an unfinished copy"}
_WORDS: dict[Holds, str] = {
    "candidate": "the candidate",
    "incumbent": "what was there before",
    "something else": "something else: somebody changed it",
    "nothing": "nothing: it is not there",
    "an unfinished copy": "an unfinished copy",
}


def find_leftovers(
    folders: Folders, parents: Iterable[str], token: str | None = None
) -> tuple[Leftover, ...]:
    """The temporary files in these folders, or those of one transaction, by path. A folder that is not there has none."""
    found: list[Leftover] = []
    for parent in sorted(set(parents)):
        try:
            names = folders.names(parent)
        except Refused:
            continue  # whoever needs the folder says what is wrong with it
        for name in names:
            about = read_name(name)
            if about is not None and token in (None, about.token):
                found.append(_leftover(folders.hold(parent), parent, name, about))
    return tuple(found)


def refuse_leftovers(folders: Folders, parents: Iterable[str]) -> None:
    """ApplyError that explains what an earlier apply left in these folders, if there is anything."""
    leftovers = find_leftovers(folders, parents)
    if not leftovers:
        return
    heading = (
        "an earlier `evolve apply` was cut off or could not go back; nothing was changed now, and it left:"
    )
    accounts = [name for name in folders.names("") if name.startswith(RECOVERY_PREFIX)]
    also = [f"its account is in {name}; delete it when you are done" for name in accounts]
    raise ApplyError("\n  ".join([heading, *explain(folders.root, leftovers), *also]))


def explain(root: Path, leftovers: Sequence[Leftover]) -> list[str]:
    """What there is and what to do about it, as lines; the commands are for a shell in `root`."""
    destinations = {each.destination: each.destination_holds for each in leftovers}
    lines = [f"{each.path} holds {_WORDS[each.holds]}" for each in leftovers]
    lines += [f"{path} holds {_WORDS[holds]}" for path, holds in destinations.items()]
    moved = _to_move_back(leftovers)
    rest = [each for each in leftovers if _is_removable(each) and each not in moved]
    all_new = set(destinations.values()) == {"candidate"}
    if moved:
        commands = [*map(_move, moved), *map(_removal, rest)]
        lines += [f"to go back to what was there before, in {root}:", *commands]
    if all_new or (rest and not moved):
        heading = "to keep the candidate" if all_new else "to clean up"
        lines += [f"{heading}, in {root}:", *map(_removal, [*moved, *rest])]
    return [*lines, *_to_look_at(leftovers, destinations)]


def _leftover(folder: int, parent: str, name: str, about: TemporaryName) -> Leftover:
    finished = about.kind != "unfinished"
    return Leftover(
        path=str(PurePosixPath(parent) / name),
        kind=about.kind,
        holds=_holds(folder, name, about) if finished else "an unfinished copy",
        destination=str(PurePosixPath(parent) / about.destination),
        destination_holds=_holds(folder, about.destination, about),
    )


def _holds(folder: int, name: str, about: TemporaryName) -> Holds:
    try:
        digest = short(read_state(folder, name).content)
    except Refused:
        return "nothing" if id_of(folder, name) is None else "something else"
    return (
        "candidate" if digest == about.after else "incumbent" if digest == about.before else "something else"
    )


def _to_move_back(leftovers: Sequence[Leftover]) -> list[Leftover]:
    """The backups to put back, while it is certain that every replaced file still has its own.

    Backups are removed only after everything that was displaced: once that is gone, the apply had ended.
    """
    if not any(each.kind == "exchange" for each in leftovers):
        return []
    return [
        each
        for each in leftovers
        if each.kind == "backup"
        and each.holds == "incumbent"
        and each.destination_holds in ("candidate", "nothing")
    ]


def _is_removable(leftover: Leftover) -> bool:
    """Nothing is lost with it: its bytes are elsewhere too, or can be made again."""
    return leftover.holds in _WORTHLESS and (leftover.destination_holds in _OURS or leftover.kind != "backup")


def _to_look_at(leftovers: Sequence[Leftover], destinations: Mapping[str, Holds]) -> Iterator[str]:
    """What a person must decide, because somebody else's work may be in it."""
    for path, holds in destinations.items():
        if holds not in _OURS:
            yield f"look at {path} yourself and compare it with the files beside it; remove them when you are done"
    for each in leftovers:
        if each.holds == "something else":
            yield f"look at {each.path} yourself: if it is your change, move it where it belongs"


def _move(leftover: Leftover) -> str:
    return f"  mv -f -- {shlex.quote(leftover.path)} {shlex.quote(leftover.destination)}"


def _removal(leftover: Leftover) -> str:
    return f"  rm -f -- {shlex.quote(leftover.path)}"

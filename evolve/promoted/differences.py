"""Where two promotions differ, field by field, for people. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bench.digest import canonical_json
from bench.text import printable
from evolve.gate import Promotion

MOST_NAMED = 10
_LONGEST = 60
_NAMES = ("task", "candidate_arm", "repeat")  # what an element of a list is called by
_CAUSES = ("schema_version", "metadata.", "evidence.", "verdict.policy", "verdict.parameters")
_NOTHING = object()


def differences(stated: Promotion, rebuilt: Promotion) -> tuple[str, ...]:
    """Each field that differs with both values, the first ones of many. What only follows from another difference
    (the verdict of other evidence) is left out.
    """
    found = dict(_differing("", msgspec.to_builtins(stated), msgspec.to_builtins(rebuilt)))
    causes = {field: said for field, said in found.items() if field.startswith(_CAUSES)} or found
    lines = [f"{printable(field)}: {said}" for field, said in causes.items()]
    more = [f"and {len(lines) - MOST_NAMED} more fields"] if len(lines) > MOST_NAMED else []
    return (*lines[:MOST_NAMED], *more)


def _differing(field: str, stated: Any, rebuilt: Any) -> Iterator[tuple[str, str]]:
    """The leaves that differ, by their place."""
    left, right = _parts(field, stated), _parts(field, rebuilt)
    if left is None or right is None:
        if canonical_json([_plain(stated)]) != canonical_json([_plain(rebuilt)]) or (stated is _NOTHING) != (
            rebuilt is _NOTHING
        ):
            yield field, f"promotion.json says {_said(stated)}, the run's files say {_said(rebuilt)}"
        return
    for place in dict.fromkeys((*right, *left)):
        yield from _differing(place, left.get(place, _NOTHING), right.get(place, _NOTHING))


def _parts(field: str, value: Any) -> Mapping[str, Any] | None:
    """The parts of an object or list by their place; None for a leaf."""
    if isinstance(value, dict):
        return {f"{field}.{key}" if field else key: part for key, part in value.items()}
    if isinstance(value, list | tuple):
        return {f"{field}[{name}]": part for name, part in zip(_names(value), value, strict=True)}
    return None


def _names(parts: Sequence[Any]) -> list[str]:
    """What the elements of a list are called by; their numbers where names are missing, or one is there twice."""
    found = [[str(part[name]) for name in _NAMES if name in part] for part in parts if isinstance(part, dict)]
    names = [each[0] for each in found if each]
    return names if len(set(names)) == len(parts) else [str(number) for number in range(len(parts))]


def _plain(value: Any) -> Any:
    return None if value is _NOTHING else value


def _said(value: Any) -> str:
    if value is _NOTHING:
        return "nothing"
    text = printable(canonical_json(value).decode())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

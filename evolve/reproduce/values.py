"""Two configurations beside each other, value by value. Pure."""

from collections.abc import Callable, Iterator
from typing import Any

from bench.config import KeyPath, dotted
from bench.digest import canonical_json
from evolve.reproduce.model import Value

_NOTHING = object()


def value_differences(
    first: Any, second: Any, origin: Callable[[KeyPath], str | None] = lambda _path: None
) -> tuple[Value, ...]:
    """The leaves that differ, by their keys; `origin` says where one of the second comes from."""
    return tuple(_differing((), first, second, origin))


def _differing(
    path: KeyPath, first: Any, second: Any, origin: Callable[[KeyPath], str | None]
) -> Iterator[Value]:
    if isinstance(first, dict) and isinstance(second, dict):
        for key in sorted({*first, *second}):
            yield from _differing((*path, key), first.get(key, _NOTHING), second.get(key, _NOTHING), origin)
    elif _said(first) != _said(second):
        yield Value(key=dotted(path), first=_said(first), second=_said(second), origin=origin(path))


def _said(value: Any) -> str | None:
    return None if value is _NOTHING else canonical_json(value).decode()

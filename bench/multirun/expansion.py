"""The points of a multirun, one after the other: nothing is composed here, and no list of them is made. Pure."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from msgspec import Struct

from bench.config import Axis, Swept

Assignments = tuple[tuple[str, str], ...]


class Point(Struct, frozen=True, kw_only=True):
    """One combination of values: its number from 1, what it sets, and all the words that its run is composed of."""

    number: int
    sets: Assignments
    words: tuple[str, ...]

    @property
    def label(self) -> str:
        """What makes it another point than the others, for people."""
        return " ".join(f"{key.lstrip('+')}={value}" for key, value in self.sets) or "(nothing varies)"


def expand(swept: Swept) -> Iterator[Point]:
    """The points in order: the last axis varies fastest, then those of `include`. Excluded ones get no number."""
    excluded = [dict(entry) for entry in swept.exclude]
    crossed = (tuple(itertools.chain.from_iterable(parts)) for parts in itertools.product(*_columns(swept)))
    kept = (sets for sets in crossed if not _matches(sets, excluded))
    for number, sets in enumerate(itertools.chain(kept, swept.include), start=1):
        words = (*swept.fixed, *(f"{key}={value}" for key, value in sets))
        yield Point(number=number, sets=sets, words=words)


def most_points(swept: Swept) -> int:
    """How many points there are before any is excluded."""
    return prod(len(column) for column in _columns(swept)) + len(swept.include)


def _columns(swept: Swept) -> list[list[Assignments]]:
    """What varies by itself: an axis, or several that advance together, at the place of the first of them."""
    groups = {name: group for group in swept.zipped for name in group}
    axes = {axis.name: axis for axis in swept.axes}
    columns, seen = [], set()
    for axis in swept.axes:
        if axis.name not in seen:
            together = [axes[name] for name in groups.get(axis.name, (axis.name,))]
            seen |= {each.name for each in together}
            columns.append(_advancing(together))
    # only points of `include`: the empty product would be one more
    return columns or ([[]] if swept.include else [])


def _advancing(axes: Sequence[Axis]) -> list[Assignments]:
    return [
        tuple((axis.key, value) for axis, value in zip(axes, values, strict=True))
        for values in zip(*(axis.values for axis in axes), strict=True)
    ]


def _matches(sets: Assignments, entries: Sequence[Mapping[str, str]]) -> bool:
    """Whether a point makes all the assignments of an entry."""
    values = {key.lstrip("+"): value for key, value in sets}
    return any(all(values[key] == value for key, value in entry.items()) for entry in entries)

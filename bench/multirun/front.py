"""What a point of a multirun measured, and which of them no other one beats. Pure."""

from collections.abc import Iterable, Sequence

from msgspec import Struct


class Span(Struct, frozen=True):
    """A number with the interval that resampling the tasks gives it."""

    value: float
    low: float
    high: float


class Dot(Struct, frozen=True, kw_only=True):
    """One role at one (agent, model, effort): `quality` is the mean score of a task, 0 to 1, `cost` the mean dollars of a
    cell, null where nobody knows one. `front` if no dot of its role is at least as good and cheaper, or better and no
    dearer.
    """

    points: tuple[int, ...]
    agent: str
    model: str | None
    effort: str | None
    role: str
    cells: int
    tasks: int
    quality: Span | None
    cost: Span | None
    front: bool = False


def pareto_front(places: Sequence[tuple[float, float]]) -> tuple[bool, ...]:
    """Of (cost, quality) which ones no other dominates: none is no dearer and no worse, and one of both better.

    Source: the maxima of a set of vectors, Kung, Luccio and Preparata 1975 (JACM 22): sorted by cost, each is
    compared with the best quality so far. Equal places are all on the front, or none.
    """
    best = float("-inf")
    kept: set[tuple[float, float]] = set()
    for cost, quality in sorted(set(places), key=lambda place: (place[0], -place[1])):
        if quality > best:
            kept.add((cost, quality))
            best = quality
    return tuple(place in kept for place in places)


def known(dots: Iterable[Dot], role: str) -> list[tuple[Dot, Span, Span]]:
    """The dots of a role that have both numbers, with cost and quality."""
    return [
        (dot, dot.cost, dot.quality)
        for dot in dots
        if dot.role == role and dot.cost is not None and dot.quality is not None
    ]

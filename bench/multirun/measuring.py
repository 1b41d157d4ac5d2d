"""From rows to dots: quality and cost of each (model, effort) and role, with intervals. Pure."""

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from msgspec import Struct, structs

from bench.multirun.front import Dot, Span, known, pareto_front
from bench.results import Row, latest_attempts

DRAWS = 2000
TAIL = 0.025  # on each side: an interval of 95 %
ROLES = ("incumbent", "candidate", "comparator", "control")

Measured = tuple[str, float | None]  # task, number


class PointRows(Struct, frozen=True, kw_only=True):
    """The rows that a point of a multirun rests on."""

    point: int
    rows: tuple[Row, ...]


def quality(row: Row) -> float:
    """The score of a measured row: weighted F1 of a review with a defect, else whether the task was resolved."""
    scored = None if row.score is None else row.score.weighted_f1
    return float(row.outcome.resolved) if scored is None else scored


def make_dots(points: Iterable[PointRows], seed: int) -> tuple[Dot, ...]:
    """A dot for each role at each (model, effort). A measurement that several points share counts once."""
    rows: dict[tuple[str, str, str, str], dict[tuple[str, ...], Row]] = defaultdict(dict)
    numbers: dict[tuple[str, str, str, str], set[int]] = defaultdict(set)
    for point in points:
        for row in latest_attempts(point.rows):
            known_as = row.identity
            name = (known_as.agent, known_as.model or "", known_as.effort or "", known_as.role)
            rows[name].setdefault(_measurement(row), row)
            numbers[name].add(point.point)
    order = {role: index for index, role in enumerate(ROLES)}
    names = sorted(rows, key=lambda name: (*name[:3], order.get(name[3], len(ROLES))))
    return with_front([_dot(name, tuple(rows[name].values()), numbers[name], seed) for name in names])


def with_front(dots: Sequence[Dot]) -> tuple[Dot, ...]:
    """The same, each told whether it is on the front of its role."""
    on_front = set()
    for role in {dot.role for dot in dots}:
        there = known(dots, role)
        fronts = pareto_front([(cost.value, good.value) for _, cost, good in there])
        on_front |= {id(dot) for (dot, _, _), front in zip(there, fronts, strict=True) if front}
    return tuple(structs.replace(dot, front=id(dot) in on_front) for dot in dots)


def task_span(values: Sequence[Measured], seed: int) -> Span | None:
    """The mean of the tasks' means, and its percentile interval when whole tasks are drawn with replacement; None if
    there is no value, or one is unknown.

    Source: Efron 1979 (Annals of Statistics 7), the percentile bootstrap; tasks are the clusters, as repeats of a
    task are not independent. The same values and seed give the same interval, in whatever order they come.
    """
    tasks: dict[str, list[float]] = defaultdict(list)
    for task, value in values:
        if value is None:
            return None
        tasks[task].append(value)
    if not tasks:
        return None
    means = [fmean(sorted(tasks[task])) for task in sorted(tasks)]
    chance = random.Random(seed)  # noqa: S311 - resampling, not a secret
    drawn = sorted(fmean(chance.choices(means, k=len(means))) for _ in range(DRAWS))
    edge = math.floor(TAIL * DRAWS)
    return Span(fmean(means), drawn[edge], drawn[-1 - edge])


def _dot(name: tuple[str, str, str, str], rows: Sequence[Row], points: Iterable[int], seed: int) -> Dot:
    agent, model, effort, role = name
    measured = [row for row in rows if row.outcome.status == "measured"]
    return Dot(
        points=tuple(sorted(points)),
        agent=agent,
        model=model or None,
        effort=effort or None,
        role=role,
        cells=len(measured),
        tasks=len({row.identity.task for row in measured}),
        quality=task_span([(row.identity.task, quality(row)) for row in measured], seed),
        cost=task_span([(row.identity.task, row.usage.cost_usd) for row in measured], seed),
    )


def _measurement(row: Row) -> tuple[str, ...]:
    """What tells one measurement from another, through any chain of reuse: a cell, and when it was measured."""
    return (*map(str, row.key), row.measured_at.isoformat())


def roles_of(dots: Iterable[Dot]) -> Mapping[str, tuple[Dot, ...]]:
    """The dots by role, in the order of roles."""
    grouped: dict[str, list[Dot]] = {role: [] for role in ROLES}
    for dot in dots:
        grouped.setdefault(dot.role, []).append(dot)
    return {role: tuple(found) for role, found in grouped.items() if found}

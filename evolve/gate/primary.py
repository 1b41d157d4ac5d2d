"""The primary comparison of a candidate with its incumbent: an exact test, or an e-value."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from msgspec import Struct

from evolve.gate.betting import e_value
from evolve.gate.boundaries import walk
from evolve.gate.endpoints import Endpoint
from evolve.gate.flips import flip_test
from evolve.gate.samples import Side, TaskSample, differences, kept, task_means
from evolve.gate.signs import sign_test
from evolve.gate.spending import spent_at
from evolve.gate.units import LOG_UNITS, coarsened

MOST_PAIRS = 400  # of more pairs of a ratio, the means of the tasks are compared


class Finding(Struct, frozen=True, kw_only=True):
    """What a test of all pairs at this look says; `value` is p or, with `betting`, e. `allowed` was spent so far."""

    promote: bool
    value: Fraction
    allowed: Fraction
    look: int


Test = Callable[[Sequence[TaskSample], Endpoint, Side, Fraction, Sequence[int]], Finding]


def exact_finding(
    samples: Sequence[TaskSample], endpoint: Endpoint, side: Side, level: Fraction, schedule: Sequence[int]
) -> Finding:
    """The exact test. `schedule` are the numbers of repeats after which it looks; the last one are all."""
    reached = _reached(samples, schedule)
    value = _level_of(_until(samples, reached[-1]), endpoint, side)
    share = Fraction(reached[-1], schedule[-1])
    crossed = (
        value <= level
        if len(schedule) == 1
        else _crossed(samples, endpoint, side, level, (reached, schedule[-1]))
    )
    return Finding(promote=crossed, value=value, allowed=spent_at(level, share), look=len(reached))


def betting_finding(
    samples: Sequence[TaskSample], endpoint: Endpoint, side: Side, level: Fraction, schedule: Sequence[int]
) -> Finding:
    """The largest fortune after any repeat so far: it may be looked at whenever somebody likes. All tasks of a
    repeat are bet on at once, so that the order of tasks means nothing.
    """
    bound = LOG_UNITS if endpoint.kind == "ratio" else endpoint.bound
    repeats = max((pair.repeat + 1 for each in samples for pair in each.pairs), default=0)
    values = [
        [max(-bound, min(bound, value)) for value in differences(_until(samples, until), side)]
        for until in range(1, repeats + 1)
    ]
    value = max((e_value(each, bound) for each in values), default=Fraction(1))
    return Finding(
        promote=value * level >= 1, value=value, allowed=level, look=len(_reached(samples, schedule))
    )


def flip_values(samples: Sequence[TaskSample], endpoint: Endpoint, side: Side) -> list[int]:
    """What is exchanged as one: a pair; of a score, and of a ratio with very many pairs, a task."""
    pairs = sum(len(each.pairs) for each in samples)
    if endpoint.kind == "score" or (endpoint.kind == "ratio" and pairs > MOST_PAIRS):
        return coarsened(task_means(samples, side))
    values = differences(samples, side)
    return values if endpoint.scale == 1 else coarsened(values)


def _level_of(samples: Sequence[TaskSample], endpoint: Endpoint, side: Side) -> Fraction:
    values = flip_values(samples, endpoint, side)
    if endpoint.kind == "binary":
        return sign_test(sum(value > 0 for value in values), sum(value < 0 for value in values))
    return flip_test(values)


def _crossed(
    samples: Sequence[TaskSample],
    endpoint: Endpoint,
    side: Side,
    level: Fraction,
    plan: tuple[Sequence[int], int],
) -> bool:
    """Whether any look so far crossed its boundary. Pairs walk through all looks; where tasks are exchanged as one,
    their means at two looks are not parts of one sum, and each look gets its share of the level by itself.
    """
    reached, planned = plan
    if endpoint.kind == "score":
        starts = [Fraction(0), *(spent_at(level, Fraction(repeats, planned)) for repeats in reached)]
        return any(
            _level_of(_until(samples, repeats), endpoint, side) <= after - before
            for repeats, before, after in zip(reached, starts, starts[1:], strict=False)
        )
    pairs = planned * len(samples)
    blocks = [
        _block(samples, endpoint, side, (first, last, pairs))
        for first, last in zip([0, *reached], reached, strict=False)
    ]
    return any(look.crossed for look in walk(blocks, max(pairs, 1), level))


def _block(
    samples: Sequence[TaskSample], endpoint: Endpoint, side: Side, part: tuple[int, int, int]
) -> list[int]:
    """The pairs of the repeats between two looks, in units for the number of pairs that are planned."""
    first, last, pairs = part
    values = differences(kept(samples, lambda pair: first <= pair.repeat < last), side)
    return values if endpoint.scale == 1 else coarsened(values, pairs)


def _until(samples: Sequence[TaskSample], repeats: int) -> tuple[TaskSample, ...]:
    return kept(samples, lambda pair: pair.repeat < repeats)


def _reached(samples: Sequence[TaskSample], schedule: Sequence[int]) -> list[int]:
    """The looks whose repeats are all there; before the first one, what there is."""
    repeats = max((pair.repeat + 1 for each in samples for pair in each.pairs), default=0)
    return [each for each in schedule if each <= repeats] or [repeats]

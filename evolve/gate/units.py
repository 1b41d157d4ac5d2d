"""Measured numbers as whole numbers, so that no decision hangs on a floating-point sum.

Rounding is to the nearest unit, halves away from zero: it keeps the order of values and is odd (−x rounds to −round(x)),
which is all that sign-flip tests need. They are exact for the rounded differences, whatever the unit is.
"""

import math
import sys
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import log

SCORE_UNITS = 10_000  # units in a score of 1: a unit is 0.0001
LOG_UNITS = 1_000  # units in a factor of e: a unit is about 0.1 %
LOG_BOUND = 4 * LOG_UNITS  # a factor of 55; more counts as that much
COARSE = ((100, 1), (300, 10), (sys.maxsize, 20))  # up to so many values, units of so many
_CONTEXT = Context(prec=34)
_DOUBT = 1e-6  # a thousand times what two logarithms of doubles can be wrong by


def rounded(number: Fraction) -> int:
    """The nearest whole number; halves away from zero."""
    whole = (2 * abs(number.numerator) + number.denominator) // (2 * number.denominator)
    return whole if number >= 0 else -whole


def score_units(score: float) -> int:
    """A score between 0 and 1 in units of 0.0001."""
    return rounded(Fraction(score) * SCORE_UNITS)


def log_ratio(before: float, now: float) -> int | None:
    """1000·ln(before/now), within ±4000; positive if `now` is less. None for work that took nothing, and was not
    measured.

    A logarithm of the platform is good enough to round, except next to a half: there `Decimal.ln`, which is rounded
    correctly (IBM's General Decimal Arithmetic), decides, so that the result is the same everywhere.
    """
    if before < 0 or now < 0 or (now == 0 and before > 0):
        return None
    if before == now:
        return 0
    if before == 0:
        return -LOG_BOUND
    rough = LOG_UNITS * (log(before) - log(now))
    nearest = math.floor(abs(rough) + 0.5) * (1 if rough > 0 else -1)
    if abs(abs(rough - nearest) - 0.5) < _DOUBT:
        nearest = _precise_log_ratio(before, now)
    return max(-LOG_BOUND, min(LOG_BOUND, nearest))


@lru_cache(maxsize=256)
def log_units(share: Fraction) -> int:
    """A relative increase as a log ratio: 0.2 (20 % more) is 182 units."""
    one_more = _CONTEXT.divide(Decimal((1 + share).numerator), Decimal((1 + share).denominator))
    return rounded(Fraction(_CONTEXT.ln(one_more) * LOG_UNITS))


def _precise_log_ratio(before: float, now: float) -> int:
    return rounded(Fraction((_CONTEXT.ln(Decimal(before)) - _CONTEXT.ln(Decimal(now))) * LOG_UNITS))


def rounded_ratio(total: int, count: int) -> int:
    """total/count, rounded as above."""
    whole = (2 * abs(total) + count) // (2 * count)
    return whole if total >= 0 else -whole


def coarsened(values: Sequence[int], count: int | None = None) -> list[int]:
    """The values in coarser units where there are many (`count`, or as many as are given): the step depends on
    their number alone, never on what was measured, so the test stays exact and only counts faster.
    """
    many = len(values) if count is None else count
    step = next(step for most, step in COARSE if many <= most)
    return list(values) if step == 1 else [step * rounded_ratio(value, step) for value in values]

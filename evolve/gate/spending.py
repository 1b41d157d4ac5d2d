"""How much of a significance level may be spent at a look of a sweep, and at a release test of a campaign.

Sources: Lan and DeMets 1983 (Biometrika 70), their spending function of Pocock's kind; the series of 1/g² is Euler's.
"""

from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

# rounded down, so that what is spent never exceeds what is allowed
SIX_OVER_PI_SQUARED = Fraction(6079271018, 10**10)
_GRAIN = Decimal("1e-12")
_CONTEXT = Context(prec=40)


@lru_cache(maxsize=256)
def as_fraction(number: float) -> Fraction:
    """The number that a person wrote: 0.05 is 1/20, not the binary fraction nearest to it."""
    return Fraction(repr(number))


def spent_at(level: Fraction, share: Fraction) -> Fraction:
    """Level · ln(1 + (e - 1)·t) for t = `share` of the planned pairs, rounded down to 1e-12 (Lan and DeMets 1983).

    `Decimal.ln` is rounded correctly, so the value is the same on every platform.
    """
    if share >= 1:
        return level
    grown = (_CONTEXT.exp(Decimal(1)) - 1) * share.numerator / share.denominator + 1
    return level * Fraction(_CONTEXT.ln(grown).quantize(_GRAIN, rounding=ROUND_FLOOR))


def release_level(level: Fraction, test: int) -> Fraction:
    """Level · 6/(π²·g²) for release test g = 1, 2, …: over any number of tests they sum to less than `level`."""
    if test < 1:
        raise ValueError(f"release tests are counted from 1, not {test}")
    return level * SIX_OVER_PI_SQUARED / test**2

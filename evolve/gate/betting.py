"""An e-value for pairs: what a gambler who bets on the candidate would own, starting from 1.

Sources: Ville 1939; Waudby-Smith and Ramdas 2024 (JRSS B, arXiv 2010.09686) for bets on bounded values; Robbins 1970
for the mixture. If the arms are exchangeable within each pair, every bet is fair: the chance that the mean of the
fortunes ever reaches 1/α is at most α, however often and whenever somebody looks.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import prod

# Stakes as shares of the fortune. Spread over (0, 1): small ones grow on small effects, large ones on large effects.
STAKES = tuple(Fraction(number, 20) for number in (4, 7, 10, 13, 16))


def e_value(differences: Iterable[int], bound: int) -> Fraction:
    """The mean over the stakes of ∏(1 + stake·d/bound), for differences within ±bound. It does not fall when a
    difference grows, and does not depend on their order.
    """
    values = [value for value in differences if value]
    return sum((_fortune(values, bound, stake) for stake in STAKES), Fraction(0)) / len(STAKES)


def _fortune(values: Sequence[int], bound: int, stake: Fraction) -> Fraction:
    base = stake.denominator * bound
    return Fraction(prod(base + stake.numerator * value for value in values), base ** len(values))

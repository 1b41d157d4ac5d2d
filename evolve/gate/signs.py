"""The exact sign test on pairs that differ, and what follows from it. Integers and rational numbers only.

Source: McNemar 1947 (Psychometrika 12) for the conditional test; Clopper and Pearson 1934 (Biometrika 26) for the interval.
"""

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

GRID = 1000  # shares of an interval are reported in thousandths


def sign_test(wins: int, losses: int) -> Fraction:
    """P(W ≥ wins) for W ~ binomial(wins + losses, 1/2): one-sided, never a mid-p (McNemar 1947, exact form)."""
    return tail(wins + losses, wins, Fraction(1, 2))


def tail(trials: int, least: int, share: Fraction) -> Fraction:
    """P(W ≥ least) for W ~ binomial(trials, share): the sum of the terms, over one denominator."""
    return Fraction(_upper(trials, share)[min(max(least, 0), trials + 1)], share.denominator**trials)


@lru_cache(maxsize=4096)
def needed_wins(trials: int, level: Fraction) -> int | None:
    """The fewest wins among `trials` differing pairs whose sign test is at or below `level`; None if none is."""
    most, above = int(level * 2**trials), _upper(trials, Fraction(1, 2))
    return next((wins for wins in range(trials + 1) if above[wins] <= most), None)


def smallest_trials(level: Fraction) -> int:
    """How many pairs must differ before any outcome reaches `level`: the smallest n with 2⁻ⁿ ≤ level."""
    trials = 0
    while Fraction(1, 2**trials) > level:
        trials += 1
    return trials


@lru_cache(maxsize=4096)
def share_interval(wins: int, losses: int, level: Fraction) -> tuple[Fraction, Fraction]:
    """Shares of wins that neither one-sided test at `level` excludes, widened to the grid (Clopper and Pearson 1934)."""
    low, high = _lowest_share(wins, losses, level), _lowest_share(losses, wins, level)
    return low, 1 - high


@lru_cache(maxsize=4096)
def _upper(trials: int, share: Fraction) -> tuple[int, ...]:
    """P(W ≥ k) · denominator^trials for k = 0 … trials + 1."""
    won, lost = share.numerator, share.denominator - share.numerator
    terms, choose = [], 1
    powers = list(accumulate([1] + [lost] * trials, lambda a, b: a * b))
    won_power = 1
    for wins in range(trials + 1):
        terms.append(choose * won_power * powers[trials - wins])
        won_power *= won
        choose = choose * (trials - wins) // (wins + 1)
    return (*reversed(list(accumulate(reversed(terms)))), 0)


def _lowest_share(wins: int, losses: int, level: Fraction) -> Fraction:
    """The largest grid share below which so many wins are less likely than `level`."""
    low, high = 0, GRID
    while low < high:
        middle = (low + high + 1) // 2
        if tail(wins + losses, wins, Fraction(middle, GRID)) <= level:
            low = middle
        else:
            high = middle - 1
    return Fraction(low, GRID)

"""What a sign test can find: its power, the pairs it needs, the effect it finds. Exact; for planning and reports."""

from fractions import Fraction
from math import comb

from evolve.gate.signs import needed_wins, tail

LIKELY = Fraction(4, 5)  # "finds" means: with a power of 80 %
DISCORDANCE = Fraction(
    1, 5
)  # pairs of identical arms that differ, where no earlier rows say it [peers_evolution A6]
_POINT = Fraction(1, 100)


def power_given(differing: int, pairs: int, effect: Fraction, level: Fraction) -> Fraction | None:
    """The power for a mean difference of `effect`, if as many pairs differ as did. None if none did."""
    if differing == 0:
        return None
    wins = needed_wins(differing, level)
    share = min(Fraction(1), (1 + effect * pairs / differing) / 2)
    return Fraction(0) if wins is None else tail(differing, wins, share.limit_denominator(1000))


def power_planned(pairs: int, effect: Fraction, level: Fraction, discordance: Fraction) -> Fraction:
    """The power before anything is measured: the mean of `power_given` over how many pairs will differ, each with
    the chance of `discordance` (or of the effect, if that is more). Connor 1987 (Biometrics 43), summed exactly.
    """
    chance = max(discordance, effect)
    share = (1 + effect / chance) / 2
    total = Fraction(0)
    for differing in range(1, pairs + 1):
        weight = _binomial(pairs, differing, chance)
        wins = needed_wins(differing, level) if weight else None
        if wins is not None:
            total += weight * _rough(tail(differing, wins, share.limit_denominator(100)))
    return total


def detectable(pairs: int, level: Fraction, discordance: Fraction) -> Fraction | None:
    """The smallest effect in whole points that is found with a power of 80 %; None if not even 100 points are."""
    low, high = 1, 101
    while low < high:
        middle = (low + high) // 2
        if power_planned(pairs, middle * _POINT, level, discordance) >= LIKELY:
            high = middle
        else:
            low = middle + 1
    return None if low > 100 else low * _POINT  # noqa: PLR2004


def conditional_power(
    wins: int, differing: int, share_measured: Fraction, level: Fraction, win_share: Fraction
) -> Fraction:
    """The chance that the whole sweep passes a test at `level`, if pairs go on to differ as often and the candidate
    wins `win_share` of them. Source: Lan, Simon and Halperin 1982 (Sequential Analysis 1), stochastic curtailment.
    """
    coming = expected_differing(differing, share_measured) - differing
    needed = needed_wins(differing + coming, level)
    return Fraction(0) if needed is None else tail(coming, max(needed - wins, 0), win_share)


def share_found(differing: int, level: Fraction, power: Fraction) -> Fraction:
    """The smallest share of wins, in hundredths, that a test of so many differing pairs finds with this power; 1 if
    none is.
    """
    wins = needed_wins(differing, level)
    if wins is None:
        return Fraction(1)
    low, high = 50, 100
    while low < high:
        middle = (low + high) // 2
        if tail(differing, wins, middle * _POINT) >= power:
            high = middle
        else:
            low = middle + 1
    return low * _POINT


def expected_differing(differing: int, share_measured: Fraction) -> int:
    """How many pairs of the whole sweep will differ, if they go on to differ as often."""
    return int(differing / share_measured) if share_measured else differing


def _binomial(trials: int, wins: int, share: Fraction) -> Fraction:
    won, base = share.numerator, share.denominator
    chance = Fraction(comb(trials, wins) * won**wins * (base - won) ** (trials - wins), base**trials)
    return _rough(chance)


def _rough(chance: Fraction) -> Fraction:
    """Rounded down to 1e-9: a power is told in percent, and sums of exact terms grow without end."""
    return Fraction(int(chance * 10**9), 10**9)

"""The exact statistics against scipy and statsmodels, and against counting every case."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from evolve.gate.betting import STAKES, e_value
from evolve.gate.boundaries import walk
from evolve.gate.flips import flip_test, smallest_flip_level
from evolve.gate.guards import holm
from evolve.gate.power import conditional_power, detectable, power_given, power_planned
from evolve.gate.signs import needed_wins, share_interval, sign_test, smallest_trials, tail
from evolve.gate.spending import as_fraction, release_level, spent_at
from evolve.gate.units import LOG_BOUND, coarsened, log_ratio, log_units, rounded, score_units

CLOSE = 1e-9
HALF = Fraction(1, 2)
enumerating = settings(deadline=None, max_examples=40)
small = st.lists(st.integers(-30, 30), min_size=1, max_size=9)


@enumerating
@given(st.integers(0, 60), st.integers(0, 60))
def test_the_sign_test_is_that_of_scipy(wins: int, losses: int) -> None:
    expected = stats.binomtest(wins, wins + losses, alternative="greater").pvalue if wins + losses else 1.0
    assert float(sign_test(wins, losses)) == pytest.approx(expected, abs=CLOSE)


@enumerating
@given(st.integers(1, 60), st.integers(-2, 70), st.integers(1, 99))
def test_a_tail_is_that_of_scipy(trials: int, least: int, percent: int) -> None:
    expected = stats.binom.sf(least - 1, trials, percent / 100)
    assert float(tail(trials, least, Fraction(percent, 100))) == pytest.approx(expected, abs=CLOSE)


@enumerating
@given(st.integers(1, 40), st.integers(0, 40))
def test_an_interval_is_that_of_clopper_and_pearson_to_the_grid(trials: int, wins: int) -> None:
    wins = min(wins, trials)
    low, high = share_interval(wins, trials - wins, Fraction(1, 40))
    expected = proportion_confint(wins, trials, alpha=0.05, method="beta")
    assert (float(low), float(high)) == pytest.approx(expected, abs=0.001)
    assert low <= expected[0] + CLOSE
    assert expected[1] - CLOSE <= high


@enumerating
@given(st.integers(0, 200), st.sampled_from((0.05, 0.0304, 0.01, 0.3)))
def test_the_needed_wins_are_the_fewest_that_hold_the_level(trials: int, level: float) -> None:
    wins, exact = needed_wins(trials, as_fraction(level)), as_fraction(level)
    if wins is None:
        assert trials < smallest_trials(exact)
    else:
        assert tail(trials, wins, HALF) <= exact < tail(trials, wins - 1, HALF)


@enumerating
@given(small)
def test_the_flip_test_counts_every_flip(differences: list[int]) -> None:
    flips = [
        sum(s * d for s, d in zip(signs, differences, strict=True)) for signs in _signs(len(differences))
    ]
    assert flip_test(differences) == Fraction(sum(each >= sum(differences) for each in flips), len(flips))


@enumerating
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=10))
def test_the_flip_test_is_the_permutation_test_of_scipy(differences: list[int]) -> None:
    found = stats.permutation_test(
        (np.array(differences, dtype=float),), np.sum, permutation_type="samples",
        alternative="greater", n_resamples=np.inf,
    )  # fmt: skip
    assert float(flip_test(differences)) == pytest.approx(found.pvalue, abs=CLOSE)


@enumerating
@given(st.integers(0, 12), st.integers(0, 12))
def test_outcomes_are_a_special_case_of_flips(wins: int, losses: int) -> None:
    assert flip_test([1] * wins + [-1] * losses) == sign_test(wins, losses)


@enumerating
@given(small, st.integers(0, 8), st.integers(1, 30))
def test_a_better_difference_never_has_a_larger_p(differences: list[int], place: int, more: int) -> None:
    better = list(differences)
    better[place % len(better)] += more
    assert flip_test(better) <= flip_test(differences)
    assert e_value([min(30, each) for each in better], 30) >= e_value(differences, 30)


@enumerating
@given(small)
def test_no_flip_test_falls_below_one_flip_of_all(differences: list[int]) -> None:
    assert flip_test(differences) >= smallest_flip_level(len(differences))


@enumerating
@given(st.lists(st.integers(0, 30), min_size=1, max_size=8))
def test_the_flip_test_holds_every_level_exactly(sizes: list[int]) -> None:
    found = [flip_test([s * d for s, d in zip(signs, sizes, strict=True)]) for signs in _signs(len(sizes))]
    assert all(sum(p <= level for p in found) <= level * len(found) for level in set(found))


@enumerating
@given(
    st.lists(st.lists(st.integers(-3, 3), max_size=4), min_size=1, max_size=3),
    st.sampled_from((0.05, 0.2, 0.4)),
)
def test_looking_several_times_holds_the_level_exactly(blocks: list[list[int]], level: float) -> None:
    planned = max(1, sum(map(len, blocks)))
    sizes = [abs(d) for block in blocks for d in block]
    crossed = 0
    for signs in _signs(len(sizes)):
        flat = iter(s * d for s, d in zip(signs, sizes, strict=True))
        crossed += any(
            look.crossed
            for look in walk([[next(flat) for _ in block] for block in blocks], planned, as_fraction(level))
        )
    looks = walk(blocks, planned, as_fraction(level))
    assert Fraction(crossed, 2 ** len(sizes)) == looks[-1].spent <= as_fraction(level)


def test_one_look_is_the_plain_test() -> None:
    for wins in range(13):
        (look,) = walk([[1] * wins + [-1] * (12 - wins)], 12, Fraction(1, 20))
        assert look.crossed == (sign_test(wins, 12 - wins) <= Fraction(1, 20))


@enumerating
@given(st.integers(1, 50), st.integers(1, 50))
def test_spending_is_that_of_lan_and_demets_rounded_down(seen: int, more: int) -> None:
    share = Fraction(seen, seen + more)
    expected = 0.05 * np.log(1 + (np.e - 1) * float(share))
    found = float(spent_at(Fraction(1, 20), share))
    assert found == pytest.approx(expected, abs=CLOSE)
    assert spent_at(Fraction(1, 20), Fraction(1)) == Fraction(1, 20)


def test_release_tests_never_spend_more_than_the_campaign_has() -> None:
    total = sum(release_level(Fraction(1, 20), test) for test in range(1, 2000))
    assert total < Fraction(1, 20)
    assert float(release_level(Fraction(1, 20), 1)) == pytest.approx(0.05 * 6 / np.pi**2, abs=CLOSE)
    with pytest.raises(ValueError, match="counted from 1"):
        release_level(Fraction(1, 20), 0)


@enumerating
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=8))
def test_holm_is_that_of_statsmodels(thousandths: list[int]) -> None:
    levels = {f"t{number}": Fraction(p, 1000) for number, p in enumerate(thousandths)}
    rejected = multipletests([p / 1000 for p in thousandths], alpha=0.05, method="holm")[0]
    near = any(abs(float(p) * k - 0.05) < CLOSE for p in levels.values() for k in range(1, 9))
    assert near or set(holm(levels, Fraction(1, 20))) == {f"t{n}" for n, each in enumerate(rejected) if each}


@enumerating
@given(st.lists(st.integers(0, 20), min_size=1, max_size=7))
def test_an_e_value_is_fair(sizes: list[int]) -> None:
    values = [e_value([s * d for s, d in zip(signs, sizes, strict=True)], 20) for signs in _signs(len(sizes))]
    assert sum(values) == len(values)


def test_an_e_value_is_the_mean_of_its_bets() -> None:
    expected = np.mean([(1 + float(stake)) ** 7 * (1 - float(stake)) ** 2 for stake in STAKES])
    assert float(e_value([1] * 7 + [-1] * 2, 1)) == pytest.approx(expected, abs=CLOSE)


@enumerating
@given(st.floats(0.001, 1000), st.floats(0.001, 1000))
def test_log_ratios_are_rounded_logarithms_and_odd(before: float, now: float) -> None:
    found = log_ratio(before, now)
    assert found is not None
    assert abs(found - np.clip(1000 * np.log(before / now), -LOG_BOUND, LOG_BOUND)) <= 0.5 + 1e-6
    assert log_ratio(now, before) == -found


def test_work_that_took_nothing_was_not_measured() -> None:
    assert (log_ratio(1.0, 0.0), log_ratio(0.0, 0.0), log_ratio(0.0, 1.0)) == (None, 0, -LOG_BOUND)


@enumerating
@given(st.fractions(), st.fractions())
def test_rounding_keeps_the_order_and_is_odd(first: Fraction, second: Fraction) -> None:
    assert (rounded(first) <= rounded(second)) or first > second
    assert rounded(-first) == -rounded(first)


@enumerating
@given(st.lists(st.integers(-(10**6), 10**6), max_size=5), st.sampled_from((3, 200, 1000)))
def test_coarser_units_depend_on_the_number_of_values_alone(values: list[int], count: int) -> None:
    assert coarsened([-each for each in values], count) == [-each for each in coarsened(values, count)]
    assert all(abs(a - b) <= 10 for a, b in zip(values, coarsened(values, count), strict=True))


def test_units_are_what_they_say() -> None:
    assert (log_units(Fraction(1, 5)), score_units(0.25), as_fraction(0.05)) == (182, 2500, Fraction(1, 20))


def test_power_is_that_of_the_binomial() -> None:
    wins = needed_wins(20, Fraction(1, 20))
    expected = stats.binom.sf(wins - 1, 20, 0.75)
    assert float(power_given(20, 100, Fraction(1, 10), Fraction(1, 20))) == pytest.approx(expected, abs=CLOSE)
    assert power_given(0, 100, Fraction(1, 10), Fraction(1, 20)) is None


def test_planned_power_is_the_mean_over_how_many_pairs_differ() -> None:
    level, chance = Fraction(1, 20), 0.2
    expected = sum(
        stats.binom.pmf(n, 100, chance) * stats.binom.sf(needed_wins(n, level) - 1, n, 0.75)
        for n in range(5, 101)
    )
    found = power_planned(100, Fraction(1, 10), level, Fraction(1, 5))
    assert float(found) == pytest.approx(expected, abs=1e-6)


def test_a_larger_design_finds_smaller_effects() -> None:
    found = [detectable(pairs, Fraction(1, 20), Fraction(1, 5)) for pairs in (4, 40, 100, 200)]
    assert found[0] is None
    assert sorted(found[1:], reverse=True) == found[1:]


def test_conditional_power_is_one_when_it_is_won_and_none_when_it_is_lost() -> None:
    level, share = Fraction(1, 20), Fraction(13, 20)
    assert conditional_power(40, 40, Fraction(9, 10), level, share) == 1
    assert conditional_power(0, 30, Fraction(9, 10), level, share) == 0


def _signs(count: int) -> list[tuple[int, ...]]:
    return list(itertools.product((1, -1), repeat=count))


def test_one_more_win_never_undoes_a_promotion_at_any_look() -> None:
    """All patterns of three designs with a look after each repeat."""
    for tasks, repeats, level in ((2, 3, Fraction(2, 5)), (3, 2, Fraction(1, 5)), (2, 4, Fraction(3, 10))):
        crossed = {
            signs: any(look.crossed for look in walk(_rounds(signs, tasks), tasks * repeats, level))
            for signs in itertools.product((-1, 0, 1), repeat=tasks * repeats)
        }
        for signs in (each for each, promoted in crossed.items() if promoted):
            for place in range(len(signs)):
                assert crossed[(*signs[:place], min(1, signs[place] + 1), *signs[place + 1 :])]


def _rounds(signs: tuple[int, ...], tasks: int) -> list[tuple[int, ...]]:
    return [signs[start : start + tasks] for start in range(0, len(signs), tasks)]

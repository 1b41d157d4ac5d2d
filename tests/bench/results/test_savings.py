import pytest
from hypothesis import given
from hypothesis import strategies as st
from row_builders import make_row

from bench.results import Aggregate, Saving, aggregate, median_saving, percent_saved

NUMBERS = st.floats(0.001, 1e6)


@pytest.mark.parametrize(
    ("before", "now", "percent"),
    [
        (10.0, 9.0, 10.0),
        (10.0, 12.5, -25.0),
        (10.0, 0.0, 100.0),
        (3.0, 2.0, 33.3),
        (3.0, 3.0, 0.0),
        (0.0, 1.0, None),
        (0.0, 0.0, None),
        (None, 1.0, None),
        (1.0, None, None),
        (5e-324, 1e15, None),
    ],
)
def test_percent_saved_of_what_was_used_before(
    before: float | None, now: float | None, percent: float | None
) -> None:
    assert percent_saved(before, now) == percent


@given(NUMBERS, NUMBERS)
def test_less_is_a_saving_and_more_is_none(before: float, now: float) -> None:
    saved = percent_saved(before, now)
    assert (saved >= 0) if now <= before else (saved <= 0)


def test_no_saving_is_written_without_a_sign() -> None:
    assert str(percent_saved(10.0, 10.001)) == "0.0"


@given(NUMBERS, NUMBERS, st.sampled_from((2.0, 0.5, 1024.0)))
def test_the_unit_does_not_matter(before: float, now: float, unit: float) -> None:
    assert percent_saved(before * unit, now * unit) == percent_saved(before, now)


def test_the_median_is_over_the_tasks_where_both_know_the_number() -> None:
    base, unknown = used(10.0), used(None)
    pairs = [(base, used(9.0)), (base, used(5.0)), (base, unknown), (unknown, base), (used(0.0), base)]
    assert median_saving(pairs, "cost_usd") == Saving(30.0, 2)
    assert median_saving(pairs, "turns") == Saving(0.0, 5)
    assert median_saving(pairs, "output") is None
    assert median_saving([], "cost_usd") is None


def used(cost: float | None) -> Aggregate:
    return aggregate([make_row(cost=cost)])

"""A session that could not finish is not started; one that can is clamped to the end of its run."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spend_builders import budget

from bench.cancellation import Cancellation
from bench.errors import BudgetSpent
from bench.spend import ends_of, session_seconds
from bench.sweep.deadline import deadline

positive = st.floats(0.1, 10**5)


@given(positive, st.floats(-100, 10**5), positive, st.lists(positive))
def test_no_session_outlives_its_run_or_its_timeout(
    timeout: float, left: float, least: float, seen: list[float]
) -> None:
    seconds = session_seconds(timeout, left, least, seen)
    if seconds is None:
        assert left < max([least, *seen])
    else:
        assert 0 < seconds <= min(timeout, left)
        assert seconds >= min(least, timeout)


def test_without_an_end_a_session_has_its_timeout() -> None:
    assert session_seconds(600.0, None, 30.0, [1000.0]) == 600.0


@pytest.mark.parametrize(("left", "seconds"), [(99.0, None), (100.0, 100.0), (700.0, 600.0)])
def test_less_than_the_median_of_earlier_sessions_is_not_enough(left: float, seconds: float | None) -> None:
    assert session_seconds(600.0, left, 30.0, [50.0, 100.0, 400.0]) == seconds


def test_the_nearer_of_wall_and_deadline_counts() -> None:
    at = (datetime.now(UTC) + timedelta(hours=2)).isoformat(timespec="seconds")
    left = ends_of(budget(wall=60.0, deadline=at)).left()
    assert left is not None
    assert 0 < left <= 60
    later = ends_of(budget(wall=86_400.0, deadline=at)).left()
    assert later is not None
    assert 7000 < later <= 7200


def test_a_deadline_that_is_over_is_refused_before_anything_is_paid() -> None:
    with (
        Cancellation() as cancellation,
        pytest.raises(BudgetSpent, match=r"budget\.deadline is 2020-01-01T00:00:00Z"),
        deadline(budget(deadline="2020-01-01T00:00:00Z"), cancellation),
    ):
        pass


@pytest.mark.parametrize(("worked", "left"), [(0.0, 60.0), (40.0, 20.0)])
def test_what_earlier_processes_worked_is_not_given_again(worked: float, left: float) -> None:
    ends = ends_of(budget(wall=60.0), worked)
    assert ends.steady == pytest.approx(ends.began + left)


def test_a_run_that_used_all_its_time_is_refused() -> None:
    with (
        Cancellation() as cancellation,
        pytest.raises(BudgetSpent, match=r"at work for 61 seconds, and budget\.wall allows 60"),
        deadline(budget(wall=60.0), cancellation, 61.0),
    ):
        pass

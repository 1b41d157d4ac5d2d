"""How long the packed schedule takes, and how far a stop is overrun: on a simulated clock, with nothing timed."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from published_durations import PLANNED
from schedule_model import lower_bound, packed, waves
from test_breaker import ROWS, STATUSES

from bench.cancellation import Cancellation
from bench.sweep import Breaker, run_ordered
from bench.sweep.sweep import AHEAD

PATIENCE = 30.0  # seconds until a test that hangs fails

DURATIONS = st.lists(st.integers(0, 100).map(float), max_size=40)
WORKERS = st.integers(1, 8)


class Floor:
    """Items that work until they are let go, one at a time."""

    def __init__(self, count: int) -> None:
        self._released = [threading.Event() for _ in range(count)]
        self._changed = threading.Condition()
        self.begun: list[int] = []

    def work(self, item: int) -> int:
        with self._changed:
            self.begun.append(item)
            self._changed.notify_all()
        assert self._released[item].wait(PATIENCE)
        return item

    def wait_until_begun(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.begun) >= count, PATIENCE)
            assert sorted(self.begun) == list(range(count))

    def release(self, item: int) -> None:
        self._released[item].set()

    def release_all(self) -> None:
        for event in self._released:
            event.set()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 20).map(float), min_size=1, max_size=12), st.integers(1, 4), st.integers(1, 9))
def test_the_pool_begins_exactly_what_the_model_says(
    durations: list[float], workers: int, window: int
) -> None:
    floor = Floor(len(durations))
    folded: list[int] = []

    def pool() -> None:
        run_ordered(
            range(len(durations)),
            floor.work,
            lambda item, _: folded.append(item),
            workers=workers,
            window=window,
            cancellation=cancellation,
        )

    with Cancellation() as cancellation:
        thread = threading.Thread(target=pool)
        thread.start()
        try:
            floor.wait_until_begun(min(workers, window, len(durations)))
            for step in packed(durations, workers, window).steps:
                floor.release(step.item)
                floor.wait_until_begun(step.begun)
        finally:
            floor.release_all()
            thread.join(PATIENCE)
    assert folded == list(range(len(durations)))


@given(DURATIONS, WORKERS, st.integers(0, 40))
def test_it_never_takes_longer_than_waves_of_as_many_cells(
    durations: list[float], workers: int, more: int
) -> None:
    makespan = packed(durations, workers, workers + more).makespan

    assert lower_bound(durations, workers) <= makespan + 1e-6
    assert makespan <= waves(durations, workers)


@given(DURATIONS, WORKERS, st.integers(1, 40), st.integers(0, 40))
def test_a_larger_window_never_makes_it_longer(
    durations: list[float], workers: int, window: int, more: int
) -> None:
    assert packed(durations, workers, window + more).makespan <= packed(durations, workers, window).makespan


@given(DURATIONS, WORKERS)
def test_with_all_cells_in_the_window_it_is_within_the_bound_of_list_schedules(
    durations: list[float], workers: int
) -> None:
    longest = max(durations, default=0.0)
    bound = sum(durations) / workers + (1 - 1 / workers) * longest

    assert packed(durations, workers, len(durations) + 1).makespan <= bound + 1e-6


@given(DURATIONS, WORKERS, st.integers(1, 40), st.integers(1, 6), st.data())
def test_the_breaker_is_overrun_by_less_than_the_window(
    durations: list[float], workers: int, window: int, limit: int, data: st.DataObject
) -> None:
    size = len(durations)
    statuses = data.draw(st.lists(st.sampled_from(STATUSES), min_size=size, max_size=size))
    breaker = Breaker(limit)

    schedule = packed(durations, workers, window, lambda item: breaker.take(ROWS[statuses[item]]))

    assert 0 <= schedule.overrun < window


@pytest.mark.parametrize("workers", [2, 3])
def test_published_durations_are_packed_to_within_a_tenth_of_the_lower_bound(workers: int) -> None:
    makespan = packed(PLANNED, workers, AHEAD * workers).makespan

    assert makespan <= 1.10 * lower_bound(PLANNED, workers)
    assert waves(PLANNED, workers) > 1.10 * lower_bound(PLANNED, workers)

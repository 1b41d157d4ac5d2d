"""The pool: what runs at once, in which order results arrive, and what a stop or a fault leaves."""

import select
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.cancellation import Cancellation
from bench.sweep import run_ordered

PATIENCE = 30.0  # seconds until a test that hangs fails


class Notebook:
    """What began, what ran at once and what was folded, written from any thread."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.folded: list[int] = []
        self.at_once = 0
        self._running = 0
        self._changed = threading.Condition()

    def begin(self, item: int) -> None:
        with self._changed:
            self.begun.append(item)
            self._running += 1
            self.at_once = max(self.at_once, self._running)
            self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._running -= 1

    def fold(self, item: int, result: int) -> None:
        assert result == item * 10
        with self._changed:
            self.folded.append(item)
            self._changed.notify_all()

    def wait_for(self, true: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(true, PATIENCE)


@pytest.fixture
def cancellation() -> Iterator[Cancellation]:
    with Cancellation() as cancellation:
        yield cancellation


@pytest.fixture
def notes() -> Notebook:
    return Notebook()


def run(
    items: Sequence[int],
    work: Callable[[int], None],
    notes: Notebook,
    cancellation: Cancellation,
    *,
    workers: int,
    window: int,
    fold: Callable[[int, int], None] | None = None,
) -> None:
    """Run `work` on the items; an item's result is ten times the item."""

    def noted(item: int) -> int:
        notes.begin(item)
        try:
            work(item)
        finally:
            notes.end()
        return item * 10

    run_ordered(items, noted, fold or notes.fold, workers=workers, window=window, cancellation=cancellation)


def nothing(_item: int) -> None:
    """Work that is done at once."""


def assert_met(barrier: threading.Barrier) -> None:
    """Work that ends once as many others are at work."""
    assert barrier.wait(PATIENCE) >= 0


def until_cancelled(cancellation: Cancellation) -> None:
    """Work that ends when it is told to, as a cell does."""
    assert select.select([cancellation], [], [], PATIENCE)[0]


@given(st.permutations(range(5)))
def test_results_are_folded_in_the_order_of_the_items_in_whatever_order_they_finish(
    finish: list[int],
) -> None:
    done = {item: threading.Event() for item in finish}
    after = dict(zip(finish[1:], finish, strict=False))
    notes = Notebook()

    def work(item: int) -> None:
        if item in after:
            assert done[after[item]].wait(PATIENCE)
        done[item].set()

    with Cancellation() as cancellation:
        run(range(5), work, notes, cancellation, workers=5, window=5)

    assert notes.folded == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("workers", "window"), [(1, 1), (1, 3), (3, 3), (3, 6), (6, 3)])
def test_an_item_begins_only_once_the_one_a_window_before_it_was_folded(
    workers: int, window: int, notes: Notebook, cancellation: Cancellation
) -> None:
    ahead: list[int] = []

    def work(item: int) -> None:
        ahead.append(item - len(notes.folded))

    run(range(150), work, notes, cancellation, workers=workers, window=window)

    assert max(ahead) < window
    assert notes.folded == list(range(150))


def test_a_window_is_filled_while_its_first_item_is_still_at_work(
    notes: Notebook, cancellation: Cancellation
) -> None:
    def work(item: int) -> None:
        if item == 0:
            notes.wait_for(lambda: len(notes.begun) == 4)

    run(range(8), work, notes, cancellation, workers=2, window=4)

    assert notes.folded == list(range(8))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_as_many_items_as_there_are_workers_run_at_once_and_no_more(
    workers: int, notes: Notebook, cancellation: Cancellation
) -> None:
    together = threading.Barrier(workers)

    run(range(8), lambda _: assert_met(together), notes, cancellation, workers=workers, window=8)

    assert notes.at_once == workers


def test_a_single_worker_takes_the_items_one_after_the_other(
    notes: Notebook, cancellation: Cancellation
) -> None:
    run(range(20), nothing, notes, cancellation, workers=1, window=2)

    assert notes.begun == notes.folded == list(range(20))


def test_no_items_are_no_work(notes: Notebook, cancellation: Cancellation) -> None:
    run([], nothing, notes, cancellation, workers=2, window=4)

    assert not cancellation.cancelled


def test_no_thread_outlives_the_pool(notes: Notebook, cancellation: Cancellation) -> None:
    before = set(threading.enumerate())

    run(range(8), nothing, notes, cancellation, workers=4, window=8)

    assert set(threading.enumerate()) <= before


def test_nothing_begins_that_was_cancelled_before(notes: Notebook, cancellation: Cancellation) -> None:
    cancellation.cancel("SIGINT")

    run(range(8), nothing, notes, cancellation, workers=4, window=8)

    assert notes.begun == notes.folded == []


def test_after_a_cancellation_nothing_begins_that_was_only_waiting_for_a_thread(
    notes: Notebook, cancellation: Cancellation
) -> None:
    def work(item: int) -> None:
        if item == 2:
            cancellation.cancel("SIGINT")

    run(range(9), work, notes, cancellation, workers=1, window=6)

    assert notes.begun == notes.folded == [0, 1, 2]
    assert cancellation.cause == "SIGINT"


def test_what_runs_when_the_work_is_cancelled_is_waited_for_and_folded(
    notes: Notebook, cancellation: Cancellation
) -> None:
    def work(item: int) -> None:
        if item < 2:
            until_cancelled(cancellation)
        else:
            notes.wait_for(lambda: len(notes.begun) == 3)
            cancellation.cancel("deadline")

    run(range(9), work, notes, cancellation, workers=3, window=6)

    assert sorted(notes.begun) == notes.folded == [0, 1, 2]


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stop_that_is_decided_while_folding_overruns_by_less_than_the_window(
    workers: int, notes: Notebook, cancellation: Cancellation
) -> None:
    def fold(item: int, result: int) -> None:
        notes.fold(item, result)
        if item == 5:
            cancellation.cancel("breaker")

    run(range(50), nothing, notes, cancellation, workers=workers, window=4, fold=fold)

    assert notes.folded == sorted(notes.begun)
    assert notes.folded == list(range(len(notes.folded)))
    assert 6 <= len(notes.folded) < 6 + 4


class FaultError(Exception):
    """Something that is not supposed to happen."""


@pytest.mark.parametrize("fault", [FaultError("of the work"), SystemExit(3), KeyboardInterrupt()])
def test_a_fault_of_the_work_is_raised_once_every_other_result_was_folded(
    fault: BaseException, notes: Notebook, cancellation: Cancellation
) -> None:
    def work(item: int) -> None:
        if item == 2:
            notes.wait_for(lambda: len(notes.begun) >= 5)
            raise fault
        if item == 4:
            until_cancelled(cancellation)

    with pytest.raises(type(fault)) as raised:
        run(range(20), work, notes, cancellation, workers=5, window=5)

    assert raised.value is fault
    assert cancellation.cause == "a fault of the harness"
    assert notes.folded == [item for item in sorted(notes.begun) if item != 2]
    assert {0, 1, 3, 4} <= set(notes.folded)


@pytest.mark.parametrize("fault", [FaultError("of the fold"), KeyboardInterrupt()])
def test_a_fault_while_folding_loses_no_sibling_and_folds_nothing_twice(
    fault: BaseException, notes: Notebook, cancellation: Cancellation
) -> None:
    def fold(item: int, result: int) -> None:
        notes.fold(item, result)
        if item == 1:
            notes.wait_for(lambda: len(notes.begun) >= 4)
            raise fault

    def work(item: int) -> None:
        if item == 3:
            until_cancelled(cancellation)

    with pytest.raises(type(fault)) as raised:
        run(range(20), work, notes, cancellation, workers=4, window=4, fold=fold)

    assert raised.value is fault
    assert cancellation.cancelled
    assert notes.folded == sorted(notes.begun)
    assert len(notes.folded) <= 1 + 4


def test_the_first_fault_is_raised_and_keeps_the_later_ones_as_notes(
    notes: Notebook, cancellation: Cancellation
) -> None:
    together = threading.Barrier(3)

    def work(item: int) -> None:
        together.wait(PATIENCE)
        if item == 2:
            raise FaultError("of the work")

    def fold(item: int, result: int) -> None:
        raise FaultError(f"of folding {item}")

    with pytest.raises(FaultError, match="of folding 0") as raised:
        run(range(3), work, notes, cancellation, workers=3, window=3, fold=fold)

    assert raised.value.__notes__ == [
        "and of 1: FaultError: of folding 1",
        "and of 2: FaultError: of the work",
    ]


def test_a_fault_of_a_later_item_waits_for_the_results_of_the_earlier_ones(
    notes: Notebook, cancellation: Cancellation
) -> None:
    failed = threading.Event()

    def work(item: int) -> None:
        if item == 1:
            failed.set()
            raise FaultError
        assert failed.wait(PATIENCE)

    with pytest.raises(FaultError):
        run(range(2), work, notes, cancellation, workers=2, window=2)

    assert notes.folded == [0]

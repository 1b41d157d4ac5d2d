"""Asking for a stop: heard at once by everybody who waits, and only once."""

import os
import select
import signal
import threading
from types import FrameType

import pytest

from bench.cancellation import Cancellation


def readable(cancellation: Cancellation, patience: float = 0.0) -> bool:
    return bool(select.select([cancellation], [], [], patience)[0])


def test_nothing_is_to_stop_until_somebody_says_so() -> None:
    with Cancellation() as cancellation:
        assert not cancellation.cancelled
        assert cancellation.cause is None
        assert not cancellation.hurry
        assert not readable(cancellation)


def test_the_first_cause_stays_and_a_second_request_hurries() -> None:
    with Cancellation() as cancellation:
        cancellation.cancel("deadline")
        assert not cancellation.hurry

        cancellation.cancel("SIGINT")

        assert (cancellation.cause, cancellation.hurry) == ("deadline", True)


def test_the_descriptor_stays_readable_for_everybody_who_looks() -> None:
    with Cancellation() as cancellation:
        cancellation.cancel("SIGINT")

        assert all(readable(cancellation) for _ in range(3))


def test_a_wait_that_has_begun_ends_with_the_cancellation() -> None:
    with Cancellation() as cancellation:
        heard: list[bool] = []
        waiting = threading.Thread(target=lambda: heard.append(readable(cancellation, 30)))
        waiting.start()

        cancellation.cancel("breaker")
        waiting.join()

        assert heard == [True]


def test_of_many_who_cancel_at_once_exactly_one_is_the_cause() -> None:
    with Cancellation() as cancellation:
        start = threading.Barrier(8)

        def cancel(name: str) -> None:
            start.wait()
            cancellation.cancel(name)

        threads = [threading.Thread(target=cancel, args=(str(number),)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert cancellation.cause in {str(number) for number in range(8)}
        assert cancellation.hurry
        assert os.read(cancellation.fileno(), 100) == b"x"


def test_a_signal_may_cancel_while_the_same_thread_is_cancelling() -> None:
    with Cancellation() as cancellation, cancellation._lock:

        def stop(_number: int, _frame: FrameType | None) -> None:
            cancellation.cancel("SIGUSR1")

        before = signal.signal(signal.SIGUSR1, stop)
        try:
            signal.raise_signal(signal.SIGUSR1)
        finally:
            signal.signal(signal.SIGUSR1, before)

        assert cancellation.cause == "SIGUSR1"


def test_its_descriptors_are_given_back_and_never_inherited() -> None:
    with Cancellation() as cancellation:
        descriptor = cancellation.fileno()
        assert not os.get_inheritable(descriptor)

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_a_part_stops_with_the_whole_and_the_whole_not_with_its_part() -> None:
    with Cancellation() as whole:
        with whole.part() as first:
            first.cancel("breaker")
        assert not whole.cancelled
        with whole.part() as second:
            whole.cancel("SIGINT")
            assert (second.cause, second.hurry) == ("SIGINT", False)
            whole.cancel("SIGINT")
            assert second.hurry
        with whole.part() as third:
            assert third.cause == "SIGINT"

"""A wall-clock limit on everything that a run does."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from bench.cancellation import Cancellation


@contextmanager
def deadline(seconds: float | None, cancellation: Cancellation) -> Iterator[None]:
    """Cancel when the seconds are over; None is no limit."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, cancellation.cancel, ("deadline",))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()

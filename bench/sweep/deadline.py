"""The end of everything that a run does: after so many seconds, or at a time of day."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from bench.cancellation import Cancellation
from bench.config import BudgetConfig
from bench.errors import BudgetSpent
from bench.spend import Ends, ends_of

# Timers count in C: a longer one is refused, and no run lasts a month.
_LONGEST = 30 * 86_400.0


@contextmanager
def deadline(budget: BudgetConfig, cancellation: Cancellation, worked: float = 0.0) -> Iterator[Ends]:
    """Cancel at the end of a run that begins now, or goes on after it `worked` so many seconds. BudgetSpent if that
    end is over.
    """
    ends = ends_of(budget, worked)
    left = ends.left()
    if left is None:
        yield ends
        return
    if budget.wall is not None and worked >= budget.wall:
        raise BudgetSpent(
            f"the run was at work for {worked:.0f} seconds, and budget.wall allows {budget.wall:.0f}\n"
            "  start a new run with the same words: rows that still hold are reused"
        )
    if left <= 0:
        raise BudgetSpent(
            f"the deadline is over: budget.deadline is {budget.deadline}\n  give a later one, or none (null)"
        )
    timer = threading.Timer(min(left, _LONGEST), cancellation.cancel, ("deadline",))
    timer.start()
    try:
        yield ends
    finally:
        timer.cancel()
        timer.join()

"""How much time is left, and whether it is enough to start a session. The rules are pure; `Ends` reads the clocks."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import median

from msgspec import Struct

from bench.config import BudgetConfig

# Less is not worth starting: a session that is cut off is paid for and measures nothing.
LEAST_PAID = 30.0  # seconds, of an agent that calls a model
LEAST_FREE = 1.0


class Ends(Struct, frozen=True):
    """When a run must be over, on both clocks: the steady one for `wall`, that of the calendar for `deadline`.
    This process `began` to work on it at a time of the steady one.
    """

    began: float = 0.0
    steady: float | None = None
    calendar: datetime | None = None

    def left(self) -> float | None:
        """The seconds left now, below 0 once it is over; None without an end."""
        steady = None if self.steady is None else self.steady - time.monotonic()
        calendar = None if self.calendar is None else (self.calendar - datetime.now(UTC)).total_seconds()
        return min((each for each in (steady, calendar) if each is not None), default=None)


def ends_of(budget: BudgetConfig, worked: float = 0.0) -> Ends:
    """The ends of a run that begins now, or goes on after it `worked` so many seconds."""
    began = time.monotonic()
    steady = None if budget.wall is None else began + budget.wall - worked
    calendar = None if budget.deadline is None else datetime.fromisoformat(budget.deadline)
    return Ends(began, steady, calendar)


def session_seconds(timeout: float, left: float | None, least: float, seen: Sequence[float]) -> float | None:
    """The seconds that a session may take: its timeout, at most what is left. None if it could not finish: less is
    left than `least`, or than the median of what the same arm's sessions took so far.
    """
    if left is None:
        return timeout
    expected = max(least, median(seen)) if seen else least
    return None if left < min(expected, timeout) else min(timeout, left)

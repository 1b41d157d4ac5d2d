"""The outage breaker: stops a sweep after so many consecutive cells that could not be measured. Pure."""

from bench.results import Row


class Breaker:
    """Counts consecutive `failed` or `unusable` rows in the order of the plan; a measured one resets it.

    A stopped row says nothing about the world and leaves the count as it is.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._streak = 0

    def take(self, row: Row) -> bool:
        """Whether this row trips it; never with a limit of 0."""
        status = row.outcome.status
        if status == "measured":
            self._streak = 0
        elif status in ("failed", "unusable"):
            self._streak += 1
        return self._limit > 0 and self._streak >= self._limit

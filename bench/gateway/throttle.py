"""Not more requests than an upstream wants: a token bucket, and the pause that it asks for itself."""

from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_PAUSE = 600.0


class Throttle:
    """Says how long the next request has to wait, and counts it. Times are seconds of one monotonic clock."""

    def __init__(self, per_minute: float | None, burst: int, clock: Callable[[], float]) -> None:
        self._rate = None if per_minute is None else per_minute / 60.0
        self._burst = float(burst)
        self._clock = clock
        self._tokens, self._filled = self._burst, clock()
        self._paused_until = 0.0

    def take(self, most: float) -> float | None:
        """The seconds to wait before sending, the place taken; None, nothing taken, if they are more than `most`."""
        now = self._clock()
        wait = max(self._wait_for_token(now), self._paused_until - now, 0.0)
        if wait > most:
            return None
        if self._rate is not None:
            self._tokens -= 1.0
        return wait

    def wait(self) -> float:
        """What the next request would have to wait."""
        now = self._clock()
        return max(self._wait_for_token(now), self._paused_until - now, 0.0)

    def pause(self, seconds: float) -> None:
        """Send nothing for a while, as the upstream asked."""
        self._paused_until = max(self._paused_until, self._clock() + min(seconds, LONGEST_PAUSE))

    def _wait_for_token(self, now: float) -> float:
        if self._rate is None:
            return 0.0
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._rate)
        self._filled = now
        return max(0.0, (1.0 - self._tokens) / self._rate)


def retry_after(value: str, now: datetime | None = None) -> float | None:
    """The seconds that a Retry-After header asks for: a number, or a date. None for anything else."""
    if value.replace(".", "", 1).isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())

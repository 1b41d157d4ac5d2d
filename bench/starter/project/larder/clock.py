"""Time as a parameter: all instants are aware and in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from larder.errors import ParseError, ValidationError


class Clock(Protocol):
    """Anything that knows what time it is."""

    def now(self) -> datetime:
        """The current instant, aware, in UTC."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass
class FixedClock:
    """A clock that stands still until it is advanced; for tests and replays."""

    instant: datetime

    def __post_init__(self) -> None:
        self.instant = require_aware(self.instant)

    def now(self) -> datetime:
        return self.instant

    def advance(self, step: timedelta) -> datetime:
        """Move forward by `step` and return the new instant."""
        if step < timedelta(0):
            raise ValidationError("time does not run backwards")
        self.instant += step
        return self.instant


def require_aware(instant: datetime) -> datetime:
    """The same instant in UTC; a naive one is refused, not guessed."""
    if instant.tzinfo is None:
        raise ValidationError(f"{instant.isoformat()} has no time zone")
    return instant.astimezone(UTC)


def to_text(instant: datetime) -> str:
    """ISO 8601 with a `Z`, to the second; sorts like the instants do."""
    return require_aware(instant).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_text(text: str) -> datetime:
    """The inverse of `to_text`; also reads any ISO 8601 text with an offset."""
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise ParseError(f"{text!r} is not a time stamp") from error
    return require_aware(instant)


def start_of_day(instant: datetime) -> datetime:
    """Midnight UTC of the day that holds `instant`."""
    return require_aware(instant).replace(hour=0, minute=0, second=0, microsecond=0)

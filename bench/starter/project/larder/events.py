"""Telling other parts of a program what happened, without knowing them."""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from larder.clock import from_text, to_text
from larder.errors import ParseError, ValidationError

logger = logging.getLogger(__name__)

Value = str | int | None
Handler = Callable[["Event"], None]


@dataclass(frozen=True)
class Event:
    """Something that happened; names have the form `subject.verb`."""

    name: str
    payload: Mapping[str, Value]
    at: datetime

    def __post_init__(self) -> None:
        subject, _, verb = self.name.partition(".")
        if not subject or not verb:
            raise ValidationError(f"{self.name!r} is not an event name such as order.placed")

    def matches(self, pattern: str) -> bool:
        """Whether a pattern such as `order.*`, `*` or a full name covers the event."""
        if pattern == "*":
            return True
        if pattern.endswith(".*"):
            return self.name.startswith(pattern[:-1])
        return self.name == pattern


class EventBus:
    """Calls handlers in the order of their subscription, in the publishing thread."""

    def __init__(self, remember: int = 1000) -> None:
        self._handlers: dict[str, list[Handler]] = defaultdict(list)
        self._recent: deque[Event] = deque(maxlen=remember)

    def subscribe(self, pattern: str, handler: Handler) -> Callable[[], None]:
        """Call `handler` for matching events; the result ends the subscription."""
        self._handlers[pattern].append(handler)

        def unsubscribe() -> None:
            if handler in self._handlers[pattern]:
                self._handlers[pattern].remove(handler)

        return unsubscribe

    def publish(self, event: Event) -> int:
        """Hand an event to everyone concerned and return how many that were."""
        self._recent.append(event)
        concerned = [
            handler
            for pattern, handlers in self._handlers.items()
            if event.matches(pattern)
            for handler in handlers
        ]
        for handler in concerned:
            handler(event)
        logger.debug("%s went to %d handlers", event.name, len(concerned))
        return len(concerned)

    def recent(self, pattern: str = "*") -> list[Event]:
        """Remembered events that a pattern covers, the oldest first."""
        return [event for event in self._recent if event.matches(pattern)]


def to_record(event: Event) -> dict[str, object]:
    """The event as plain data for a journal."""
    return {"name": event.name, "at": to_text(event.at), "payload": {**event.payload}}


def from_record(record: Mapping[str, object]) -> Event:
    """The inverse of `to_record`."""
    name, at, payload = record.get("name"), record.get("at"), record.get("payload")
    if not isinstance(name, str) or not isinstance(at, str) or not isinstance(payload, dict):
        raise ParseError("an event record needs a name, a time and a payload")
    return Event(name, payload, from_text(at))

"""Trying again, with growing pauses and a limit."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from larder.errors import DeliveryFailed, RetriesExhausted, ValidationError

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


@dataclass(frozen=True)
class RetryPolicy:
    """How often to try and how long to pause; all times in seconds."""

    attempts: int = 4
    first_pause: float = 0.5
    factor: float = 2.0
    longest_pause: float = 30.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValidationError("at least one attempt is needed")
        if self.first_pause < 0 or self.factor < 1 or self.longest_pause < 0:
            raise ValidationError("pauses must not be negative and must not shrink")

    def pauses(self) -> Iterator[float]:
        """The pause after each attempt but the last."""
        pause = self.first_pause
        for _ in range(self.attempts - 1):
            yield min(pause, self.longest_pause)
            pause *= self.factor


def call(
    action: Callable[[], Result],
    policy: RetryPolicy,
    retry_on: tuple[type[Exception], ...] = (DeliveryFailed,),
    sleep: Callable[[float], None] = time.sleep,
) -> Result:
    """The result of the first attempt that works; other errors pass through at once."""
    pauses = policy.pauses()
    attempt = 0
    while True:
        attempt += 1
        try:
            return action()
        except retry_on as error:
            pause = next(pauses, None)
            if pause is None:
                raise RetriesExhausted(attempt) from error
            logger.info("attempt %d failed (%s), again in %.1f s", attempt, error, pause)
            sleep(pause)

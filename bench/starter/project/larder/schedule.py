"""Work that comes back: recurrences, jobs and what is due."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import Protocol

from larder.clock import Clock, require_aware, start_of_day
from larder.errors import Conflict, NotFound, ValidationError

logger = logging.getLogger(__name__)

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class Recurrence(Protocol):
    """A rule that says when something happens again."""

    def after(self, instant: datetime) -> datetime:
        """The first occurrence that is strictly later than `instant`."""
        ...


@dataclass(frozen=True)
class Every:
    """Again and again after the same interval, counted from `start`."""

    interval: timedelta
    start: datetime

    def __post_init__(self) -> None:
        if self.interval <= timedelta(0):
            raise ValidationError("an interval must be longer than nothing")
        require_aware(self.start)

    def after(self, instant: datetime) -> datetime:
        if instant < self.start:
            return self.start
        passed = (instant - self.start) // self.interval
        return self.start + (passed + 1) * self.interval


@dataclass(frozen=True)
class Daily:
    """Every day at one time of day, in UTC."""

    at: time

    def after(self, instant: datetime) -> datetime:
        today = on_day(start_of_day(instant), self.at)
        return today if today > instant else today + timedelta(days=1)


@dataclass(frozen=True)
class Weekly:
    """On some weekdays (0 is Monday) at one time of day, in UTC."""

    days: frozenset[int]
    at: time

    def __post_init__(self) -> None:
        if not self.days or not self.days <= frozenset(range(7)):
            raise ValidationError("weekdays are numbers from 0 to 6, at least one")

    def after(self, instant: datetime) -> datetime:
        candidate = Daily(self.at).after(instant)
        while candidate.weekday() not in self.days:
            candidate += timedelta(days=1)
        return candidate


def weekly(names: str, at: time) -> Weekly:
    """A weekly recurrence from text such as `monday, friday`."""
    numbers = set()
    for name in names.split(","):
        day = name.strip().lower()
        if day not in WEEKDAYS:
            raise ValidationError(f"{name.strip()!r} is not a day of the week")
        numbers.add(WEEKDAYS.index(day))
    return Weekly(frozenset(numbers), at)


@dataclass(frozen=True)
class Job:
    """Something to do, and when it is due next."""

    name: str
    recurrence: Recurrence
    action: Callable[[], None]
    due: datetime
    runs: int = 0


class Scheduler:
    """Runs jobs when it is asked to; it has no thread of its own."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._jobs: dict[str, Job] = {}

    def __iter__(self) -> Iterator[Job]:
        return iter(sorted(self._jobs.values(), key=lambda job: (job.due, job.name)))

    def add(self, name: str, recurrence: Recurrence, action: Callable[[], None]) -> Job:
        if name in self._jobs:
            raise Conflict(f"there is already a job named {name}")
        job = Job(name, recurrence, action, recurrence.after(self._clock.now()))
        self._jobs[name] = job
        return job

    def remove(self, name: str) -> None:
        if name not in self._jobs:
            raise NotFound("job", name)
        del self._jobs[name]

    def due(self) -> list[Job]:
        """Jobs whose time has come, the most overdue first."""
        now = self._clock.now()
        return [job for job in self if job.due <= now]

    def run_due(self) -> list[str]:
        """Run what is due, each job once however late it is, and return the names."""
        names = []
        for job in self.due():
            following = job.recurrence.after(self._clock.now())
            self._jobs[job.name] = replace(job, due=following, runs=job.runs + 1)
            logger.info("running %s, next at %s", job.name, following)
            job.action()
            names.append(job.name)
        return names

    def next_due(self) -> datetime | None:
        """When something is due next, or None without jobs."""
        return min((job.due for job in self._jobs.values()), default=None)


def on_day(day: datetime, at: time) -> datetime:
    """That time on that day."""
    return day.replace(hour=at.hour, minute=at.minute, second=at.second, microsecond=0)

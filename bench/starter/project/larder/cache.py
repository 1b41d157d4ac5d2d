"""A small cache: the least recently used entry goes first, and nothing outlives its time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from larder.clock import Clock
from larder.errors import ValidationError

Key = TypeVar("Key", bound=Hashable)
Entry = TypeVar("Entry")


@dataclass(frozen=True)
class Statistics:
    """How well a cache does."""

    hits: int
    misses: int
    evictions: int

    @property
    def hit_rate(self) -> float | None:
        """Hits per request, or None before the first one."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else None


class Cache(Generic[Key, Entry]):
    """Entries by key; may be shared between threads."""

    def __init__(self, clock: Clock, lifetime: timedelta, size: int = 256) -> None:
        if size < 1 or lifetime <= timedelta(0):
            raise ValidationError("a cache needs room and time")
        self._clock = clock
        self._lifetime = lifetime
        self._size = size
        self._entries: OrderedDict[Key, tuple[Entry, datetime]] = OrderedDict()
        self._lock = threading.Lock()
        self._hits = 0
        self._misses = 0
        self._evictions = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> Entry | None:
        """The entry, unless it is missing or too old."""
        with self._lock:
            found = self._entries.get(key)
            if found is None or found[1] <= self._clock.now():
                self._entries.pop(key, None)
                self._misses += 1
                return None
            self._entries.move_to_end(key)
            self._hits += 1
            return found[0]

    def put(self, key: Key, entry: Entry) -> None:
        with self._lock:
            self._entries[key] = (entry, self._clock.now() + self._lifetime)
            self._entries.move_to_end(key)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)
                self._evictions += 1

    def get_or_make(self, key: Key, make: Callable[[], Entry]) -> Entry:
        """The entry, made and kept when it is missing."""
        found = self.get(key)
        if found is not None:
            return found
        made = make()
        self.put(key, made)
        return made

    def forget(self, key: Key) -> bool:
        """Drop one entry; whether it was there."""
        with self._lock:
            return self._entries.pop(key, None) is not None

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()

    def statistics(self) -> Statistics:
        with self._lock:
            return Statistics(self._hits, self._misses, self._evictions)

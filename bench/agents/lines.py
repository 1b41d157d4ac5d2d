"""The JSON lines that a coding agent prints, cut and read as they come, in bounded memory."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

LONGEST_LINE = 16 * 1024 * 1024
_LONGEST_NAME = 128
_MOST_NAMES = 1000
NO_EVENT = "(no event)"
TOO_LONG = "(too long)"


class EventLines:
    """Cuts a stream into events. What is no JSON object, and a line beyond the longest, is counted and skipped."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._skipping = False
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> dict[str, int]:
        """How many events of each type came."""
        return dict(sorted(self._counts.items()))

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """The events that are whole now."""
        first, *others = data.split(b"\n")
        self._add(first)
        for line in others:
            yield from self._taken()
            self._add(line)

    def close(self) -> Iterator[dict[str, Any]]:
        """The last event, if its line was not ended."""
        yield from self._taken()

    def _add(self, piece: bytes) -> None:
        if not self._skipping:
            self._rest += piece
        if len(self._rest) > LONGEST_LINE:
            self._rest.clear()
            self._skipping = True
            self._counts[TOO_LONG] += 1

    def _taken(self) -> Iterator[dict[str, Any]]:
        line = bytes(self._rest)
        self._rest.clear()
        self._skipping, skipped = False, self._skipping
        if not skipped and line.strip():
            yield from self._read(line)

    def _read(self, line: bytes) -> Iterator[dict[str, Any]]:
        try:
            event = msgspec.json.decode(line.decode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            event = None
        name = event.get("type") if isinstance(event, dict) else None
        if not isinstance(name, str):
            self._counts[NO_EVENT] += 1
            return
        if name in self._counts or len(self._counts) < _MOST_NAMES:
            self._counts[name[:_LONGEST_NAME]] += 1
        yield event


def part(value: Any, *path: str) -> Any:
    """What lies at `path` in nested objects; None where one of them is missing or no object."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def parts(value: Any, *path: str) -> list[dict[str, Any]]:
    """The objects of the list at `path`; none where there is no list."""
    found = part(value, *path)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def count(value: Any) -> int | None:
    """A non-negative integer, else unknown."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def sum_counts(values: list[int | None]) -> int | None:
    """The sum; unknown if one of them is."""
    return None if None in values else sum(value for value in values if value is not None)

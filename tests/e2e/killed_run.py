"""A program: `evolve` with the words that follow, killed with SIGKILL at the point that comes first.

`killed_run.py POINT WORDS…`; the points are the keys of POINTS, all of them after generation 1 was promoted.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import evolve.cli
import evolve.generation
import evolve.promoted.champion
import evolve.run
from bench.watch import GenerationStarted, VerdictReached, Watcher


def killed(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Killer:
    """Looks at the events of a run, and ends it at one of them."""

    def __init__(self, watcher: Watcher, fatal: Callable[[Any], bool]) -> None:
        self._watcher, self._fatal = watcher, fatal

    def see(self, event: Any) -> None:
        if self._fatal(event):
            killed()
        self._watcher.see(event)


def at_event(fatal: Callable[[Any], bool]) -> None:
    opened = evolve.run.open_events

    @contextmanager
    def open_events(*words: Any) -> Iterator[Killer]:
        with opened(*words) as watcher:
            yield Killer(watcher, fatal)

    evolve.run.open_events = open_events


def as_promotion_becomes_visible() -> None:
    evolve.generation._write_report = killed


def in_the_middle_of_the_champion() -> None:
    evolve.promoted.champion.sync_folder = killed


POINTS: dict[str, Callable[[], None]] = {
    "promotion-written": as_promotion_becomes_visible,
    "verdict-reached": lambda: at_event(lambda event: isinstance(event, VerdictReached)),
    "next-generation": lambda: at_event(
        lambda event: isinstance(event, GenerationStarted) and event.generation == 2
    ),
    "champion-half-written": in_the_middle_of_the_champion,
}

if __name__ == "__main__":
    POINTS[sys.argv[1]]()
    sys.exit(evolve.cli.main(sys.argv[2:]))

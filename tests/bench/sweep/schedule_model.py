"""A model of the pool on a clock that only computes: when each item begins, and how far a stop is overrun."""

import heapq
from collections.abc import Callable, Sequence

from msgspec import Struct


class Step(Struct, frozen=True):
    """One item ends at `time`; then `begun` items have begun in all."""

    time: float
    item: int
    begun: int


class Schedule(Struct, frozen=True):
    """Every end in its order, and how many items had begun beyond the one at which the work was stopped."""

    steps: tuple[Step, ...]
    overrun: int = 0

    @property
    def makespan(self) -> float:
        return max((step.time for step in self.steps), default=0.0)


def never(_: int) -> bool:
    """Nothing stops the work."""
    return False


def packed(
    durations: Sequence[float], workers: int, window: int, stops: Callable[[int], bool] = never
) -> Schedule:
    """The schedule of `run_ordered`: items begin in their order, at most `window` beyond the fold point. `stops` is
    told each item as it is folded, and says whether nothing more may begin. Where the pool's threads and its fold
    race, the threads win: no real overrun is longer.
    """
    running: list[tuple[float, int]] = []
    done: set[int] = set()
    steps: list[Step] = []
    begun = folded = 0
    time, stopped_at = 0.0, -1
    while stopped_at < 0 or running:
        while stopped_at < 0 and begun < min(len(durations), folded + window) and len(running) < workers:
            heapq.heappush(running, (time + durations[begun], begun))
            begun += 1
        if folded in done:
            stopped_at = folded if stopped_at < 0 and stops(folded) else stopped_at
            overrun = begun - folded - 1 if stopped_at == folded else 0
            folded += 1
        elif running:
            ...
    return Schedule(tuple(steps))

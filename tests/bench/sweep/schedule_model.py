"""A model of the pool on a clock that only computes: when each item ends, and how far a stop is overrun."""

import heapq
from collections.abc import Callable, Sequence

from msgspec import Struct


class Step(Struct, frozen=True):
    """The end of one item, and how many items have begun once it was dealt with."""

    time: float
    item: int
    begun: int


class Schedule(Struct, frozen=True):
    """All ends in their order. `overrun` counts the items begun beyond the one that stopped the work, if any did."""

    steps: tuple[Step, ...]
    overrun: int

    @property
    def makespan(self) -> float:
        return max((step.time for step in self.steps), default=0.0)


def never(_item: int) -> bool:
    """Nothing stops the work."""
    return False


def packed(
    durations: Sequence[float], workers: int, window: int, stops: Callable[[int], bool] = never
) -> Schedule:
    """The schedule of `run_ordered`. `stops` is told each item as it is folded, in their order, and says whether
    nothing more may begin. Where the pool's threads race its fold, the threads win: no real overrun is longer.
    """
    pool = _Pool(durations, workers, window)
    steps = []
    overrun = 0
    pool.begin()
    while pool.running:
        pool.time, item = heapq.heappop(pool.running)
        pool.done.add(item)
        pool.begin()
        while pool.folded in pool.done and not pool.stopped:
            pool.stopped = stops(pool.folded)
            pool.folded += 1
            overrun = pool.begun - pool.folded if pool.stopped else 0
            pool.begin()
        steps.append(Step(pool.time, item, pool.begun))
    return Schedule(tuple(steps), overrun)


class _Pool:
    """What changes while the clock goes on."""

    def __init__(self, durations: Sequence[float], workers: int, window: int) -> None:
        self._durations, self._workers, self._window = durations, workers, window
        self.running: list[tuple[float, int]] = []
        self.done: set[int] = set()
        self.begun = self.folded = 0
        self.time, self.stopped = 0.0, False

    def begin(self) -> None:
        """Everything that may begin now."""
        last = min(len(self._durations), self.folded + self._window)
        while self.begun < last and len(self.running) < self._workers and not self.stopped:
            heapq.heappush(self.running, (self.time + self._durations[self.begun], self.begun))
            self.begun += 1


def waves(durations: Sequence[float], workers: int) -> float:
    """The makespan where as many items as there are workers begin together, once all before them have ended."""
    return sum(max(durations[first : first + workers]) for first in range(0, len(durations), workers))


def lower_bound(durations: Sequence[float], workers: int) -> float:
    """What no schedule is shorter than: the longest item, and all of them evenly shared."""
    return max(max(durations, default=0.0), sum(durations) / workers)

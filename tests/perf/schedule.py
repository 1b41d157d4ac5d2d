"""How the cells of a sweep are packed, on published durations and a clock that only computes. `tests/bench/sweep`
holds the model against the real pool.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "bench" / "sweep"))

from measuring import Line
from published_durations import PLANNED
from schedule_model import lower_bound, packed, waves

from bench.sweep.sweep import AHEAD

DEFAULT_BREAKER = 5

MOST_TIMES_BOUND = 1.10

_HOURS = 3600.0


def on_published_durations() -> Iterator[Line]:
    """The makespan for some numbers of workers, and the cells that are wasted when everything begins to fail."""
    for workers in (2, 3, 4):
        bound = lower_bound(PLANNED, workers)
        makespan = packed(PLANNED, workers, AHEAD * workers).makespan
        yield Line(
            what=f"{len(PLANNED)} published cells, {workers} workers, packed",
            measured=f"{makespan / _HOURS:.2f} h",
            baseline=f"{bound / _HOURS:.2f} h lower bound; waves {waves(PLANNED, workers) / bound:.2f} ×",
            value=makespan / bound,
            bar=MOST_TIMES_BOUND,
        )
    for workers in (2, 3, 4):
        window = AHEAD * workers
        worst = max(_overrun(workers, window, first) for first in range(len(PLANNED)))
        yield Line(
            what=f"  outage at any cell, {workers} workers: cells wasted",
            measured=f"{worst} cells",
            baseline=f"window {window}",
            value=worst / window,
            bar=1.0,
        )


def _overrun(workers: int, window: int, first: int) -> int:
    """Cells begun in vain when those from `first` on are all lost and the breaker trips."""
    return packed(PLANNED, workers, window, lambda item: item >= first + DEFAULT_BREAKER - 1).overrun

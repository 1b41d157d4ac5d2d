"""How much less one arm used than another, in percent. Pure."""

from collections.abc import Iterable
from math import isfinite
from statistics import median

from msgspec import Struct

from bench.results.aggregate import Aggregate

SAVED = ("cost_usd", "turns", "seconds", "output")


class Saving(Struct, frozen=True):
    """The median saving in percent (negative: more was used), and how many tasks it is over."""

    percent: float
    tasks: int


def percent_saved(before: float | None, now: float | None) -> float | None:
    """100·(before − now)/before, to one decimal. None where either is unknown or there is nothing to save from."""
    if before is None or now is None or before <= 0:
        return None
    saved = round(100 * ((before - now) / before), 1) + 0.0  # no -0.0
    return saved if isfinite(saved) else None


def median_saving(pairs: Iterable[tuple[Aggregate, Aggregate]], metric: str) -> Saving | None:
    """The median saving of (base, arm) over the tasks where both measured the metric; None if there is none."""
    saved = [percent_saved(getattr(base, metric), getattr(arm, metric)) for base, arm in pairs]
    known = [percent for percent in saved if percent is not None]
    return Saving(median(known), len(known)) if known else None

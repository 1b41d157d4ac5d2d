"""What cells can be expected to use, from earlier rows. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from msgspec import Struct

from bench.results import Row

CellKind = tuple[str, str]  # task, arm


class Expectation(Struct, frozen=True, kw_only=True):
    """The expected sum over some cells; `low` and `high` are the sums of the least and the most that was seen.

    All three are null if one of the cells is unknown: an unknown part is not zero. `by_task` cells are expected
    what the same arm used on the same task, `by_arm` ones what it used on others, `unknown` ones nothing at all.
    """

    expected: float | None
    low: float | None
    high: float | None
    by_task: int
    by_arm: int
    unknown: int

    def source(self) -> str:
        """Where it comes from, for people."""
        parts = (
            (self.by_task, "by earlier rows of their task and arm"),
            (self.by_arm, "by those of their arm on other tasks"),
            (self.unknown, "unknown"),
        )
        return ", ".join(f"{count} cells {how}" for count, how in parts if count)


def expect(
    cells: Iterable[CellKind], rows: Iterable[Row], measure: Callable[[Row], float | None]
) -> Expectation:
    """The expectation of what `measure` says of a row, by the median of earlier measured rows of the same task and
    arm, else of the arm. A row of which it does not know is none; one that was reused counts where it was measured.
    """
    by_task, by_arm = _seen(rows, measure)
    found = [(by_task.get(cell), by_arm.get(cell[1])) for cell in cells]
    seen = [exact or similar for exact, similar in found]
    known = [values for values in seen if values]
    whole = len(known) == len(seen)
    return Expectation(
        expected=sum(median(values) for values in known) if whole else None,
        low=sum(min(values) for values in known) if whole else None,
        high=sum(max(values) for values in known) if whole else None,
        by_task=sum(exact is not None for exact, _ in found),
        by_arm=sum(exact is None and similar is not None for exact, similar in found),
        unknown=len(seen) - len(known),
    )


def cost(row: Row) -> float | None:
    """A row's cost in dollars."""
    return row.usage.cost_usd


def seconds(row: Row) -> float | None:
    """A row's wall-clock seconds."""
    return row.timings.total


def _seen(
    rows: Iterable[Row], measure: Callable[[Row], float | None]
) -> tuple[Mapping[CellKind, Sequence[float]], Mapping[str, Sequence[float]]]:
    by_task: dict[CellKind, list[float]] = {}
    by_arm: dict[str, list[float]] = {}
    for row in rows:
        value = measure(row)
        if row.outcome.status != "measured" or row.reuse is not None or value is None:
            continue
        by_task.setdefault((row.identity.task, row.identity.arm), []).append(value)
        by_arm.setdefault(row.identity.arm, []).append(value)
    return by_task, by_arm

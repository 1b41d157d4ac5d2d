"""What cells can be expected to cost, and the most that they may."""

from collections.abc import Sequence

from msgspec import Struct

from bench.arms import Cell
from bench.spend import (
    Expectation,
    Limit,
    cost,
    earlier_rows,
    expect,
    seconds,
)
from bench.spend import shown as with_unit
from bench.sweep.affording import limits_now
from bench.sweep.ground import Ground


class Costs(Struct, frozen=True, kw_only=True):
    """Of one generation's cells: dollars and cell seconds, as earlier rows have them. `at_most` are the dollars that
    the budget allows the whole run, None without a limit; `limits` are those that hold, with what is used of them.
    """

    free: bool
    usd: Expectation
    seconds: Expectation
    workers: int
    at_most: float | None
    limits: tuple[str, ...]

    @property
    def paid(self) -> bool:
        """Whether money is involved, as far as anybody knows."""
        return not self.free and self.usd.high != 0

    @property
    def wall(self) -> float | None:
        """The wall-clock seconds of one generation."""
        return None if self.seconds.expected is None else self.seconds.expected / self.workers

    def sentence(self) -> str:
        """The cost for people."""
        if self.free:
            return "nothing: the agent calls no model"
        most = "" if self.at_most is None else f"; at most ${self.at_most:.2f} for the run"
        if self.usd.expected is None:
            known = self.usd.by_task + self.usd.by_arm
            why = (
                f"{self.usd.unknown} cells have no earlier rows"
                if known
                else "no earlier rows to estimate from"
            )
            return f"unknown: {why}{most}"
        return (
            f"${self.usd.expected:.2f} a generation, from ${self.usd.low:.2f} to ${self.usd.high:.2f} "
            f"({self.usd.source()}){most}"
        )


def expect_costs(ground: Ground, cells: Sequence[Cell]) -> Costs:
    """The costs of these cells, by the newest runs of the project with the same agent, model and effort."""
    config = ground.config
    rows = earlier_rows(ground.root, agent=ground.agent.name, model=config.model.id, effort=config.effort)
    kinds = [(cell.task, cell.arm) for cell in cells for _ in range(1 + cell.twice)]
    return Costs(
        free=ground.free,
        usd=expect(kinds, rows, cost),
        seconds=expect(kinds, rows, seconds),
        workers=config.workers,
        at_most=_at_most(ground, len(kinds)),
        limits=tuple(_used(limit) for limit in limits_now(ground)),
    )


def _at_most(ground: Ground, cells: int) -> float | None:
    """The least of what the run's limit and those of its cells allow."""
    budget, config = ground.config.budget, ground.config
    if ground.free:
        return 0.0
    attempts = cells * (1 + config.retries) * config.generations
    by_cell = None if budget.cell.usd is None else attempts * budget.cell.usd
    return min((each for each in (budget.usd, by_cell) if each is not None), default=None)


def _used(limit: Limit) -> str:
    most = f"{limit.key}: {with_unit(limit.unit, limit.most)}"
    return f"{most}, {with_unit(limit.unit, limit.before)} used by earlier runs" if limit.before else most

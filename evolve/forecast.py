"""What a run is about to do, known before anything is proposed or paid."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from bench.errors import ConfigError
from bench.sweep import Ground, expect_costs, seal_plan
from evolve.gate import Policy


class Forecast(Struct, frozen=True, kw_only=True):
    """An upper bound on cells and sessions per generation, what they cost, and what the design can detect.

    Costs are in dollars and of one generation, but `cost_at_most`, which the budget allows the whole run; `wall` are
    the expected seconds of one generation. Null is unknown, or no limit.
    """

    suite: str
    agent: str
    model: str | None
    tasks: dict[str, int]
    arms: tuple[str, ...]
    repeats: int
    generations: int
    cells: int
    sessions: int
    cost_usd: float | None
    cost_low: float | None
    cost_high: float | None
    cost_at_most: float | None
    cost: str
    wall: float | None
    limits: tuple[str, ...]
    reuse: str
    detects: str


def make_forecast(ground: Ground, policy: Policy, split: str) -> Forecast:
    """The forecast from the configured arms: the overlay may need fewer of them, never more. Retries of broken
    cells come on top. ConfigError when the policy would count no task at all.
    """
    config = ground.config
    plan = seal_plan(ground, tuple(config.arms), 0, "any")
    planned = [task for task in ground.tasks if task.id in plan.tasks]
    counted = [task for task in planned if split in ("all", task.split)]
    if not counted:
        raise ConfigError(
            f"promotion.split={split} counts none of the {len(planned)} tasks that tasks.* leaves"
        )
    costs = expect_costs(ground, plan.cells)
    repeats = 1 + max(cell.repeat for cell in plan.cells)
    return Forecast(
        suite=config.suite.name,
        agent=ground.agent_name,
        model=config.model.id,
        tasks=dict(sorted(Counter(task.split for task in planned).items())),
        arms=tuple(sorted({cell.arm for cell in plan.cells})),
        repeats=repeats,
        generations=config.generations,
        cells=len(plan.cells),
        sessions=sum((1 + cell.twice) * len(config.arms[cell.arm].sessions) for cell in plan.cells),
        cost_usd=0.0 if costs.free else costs.usd.expected,
        cost_low=0.0 if costs.free else costs.usd.low,
        cost_high=0.0 if costs.free else costs.usd.high,
        cost_at_most=costs.at_most,
        cost=costs.sentence(),
        wall=costs.wall,
        limits=costs.limits,
        reuse="none: every cell is measured",
        detects=policy.detects(sum(task.class_ != "review-clean" for task in counted), repeats),
    )


def forecast_lines(forecast: Forecast) -> Sequence[str]:
    """The forecast for people."""
    tasks = ", ".join(f"{count} {split}" for split, count in forecast.tasks.items())
    return (
        f"suite {forecast.suite}: {sum(forecast.tasks.values())} tasks ({tasks})",
        f"agent {forecast.agent}, model {forecast.model or 'none'}",
        (
            f"up to {forecast.cells} cells in {forecast.sessions} sessions per generation: "
            f"{len(forecast.arms)} arms ({', '.join(forecast.arms)}) x {forecast.repeats} repeats; "
            f"generations: {forecast.generations}"
        ),
        f"cost: {forecast.cost}; reuse: {forecast.reuse}",
        f"time: {_duration(forecast.wall)}",
        *(("limits: " + "; ".join(forecast.limits),) if forecast.limits else ()),
        f"can detect: {forecast.detects}",
    )


def _duration(seconds: float | None) -> str:
    """Seconds for people, where earlier rows of all cells say something."""
    return (
        "unknown: not all cells have earlier rows"
        if seconds is None
        else f"about {seconds / 60:.1f} min a generation"
    )

"""What a run is about to do, known before anything is proposed or paid."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from bench.sweep import Ground, works_on
from evolve.gate import Policy


class Forecast(Struct, frozen=True, kw_only=True):
    """An upper bound on cells and sessions per generation, what they cost, and what the design can detect."""

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
    cost: str
    reuse: str
    detects: str


def make_forecast(ground: Ground, policy: Policy) -> Forecast:
    """The forecast from the configured arms: the overlay may need fewer of them, never more."""
    config = ground.config
    repeats = 1 if ground.agent.deterministic else config.repeats
    pairs = [(task, arm) for task in ground.tasks for arm in config.arms.values() if works_on(arm, task)]
    tasks = [task for task in ground.tasks if any(task is planned for planned, _ in pairs)]
    free = not ground.agent.calls_model
    return Forecast(
        suite=config.suite.name,
        agent=f"{ground.agent.name}/{ground.agent.version}",
        model=config.model.id,
        tasks=dict(sorted(Counter(task.split for task in tasks).items())),
        arms=tuple(sorted(config.arms)),
        repeats=repeats,
        generations=config.generations,
        cells=len(pairs) * repeats,
        sessions=sum(len(arm.sessions) for _, arm in pairs) * repeats,
        cost_usd=0.0 if free else None,
        cost="nothing: the agent calls no model" if free else "unknown: no earlier rows to estimate from",
        reuse="none: every cell is measured",
        detects=policy.detects(sum(1 for task in tasks if task.class_ != "review-clean"), repeats),
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
        f"can detect: {forecast.detects}",
    )

"""What a run is about to do, known before anything is proposed or paid."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from bench.arms import Cell
from bench.cancellation import Cancellation
from bench.config import ArmSpec
from bench.errors import ConfigError, OverlayError
from bench.reuse import MISSES, miss_words
from bench.skills import Skill, required_arms
from bench.spend import Amounts, picodollars
from bench.suite import Task
from bench.sweep import (
    Costs,
    Ground,
    Plan,
    expect_costs,
    limits_now,
    make_arms,
    refuse_unaffordable,
    seal_plan,
    shortfalls,
    with_reuse,
)
from evolve.desk import Errands, ProposingCost, proposing_cost, sum_at_most
from evolve.gate import Policy
from evolve.prospect import Prospect, prospect_lines, prospect_of

_ANY = "any"  # the overlay that will be proposed: no earlier row is of it
_MOST_REASONS = 5


class Forecast(Struct, frozen=True, kw_only=True):
    """An upper bound on cells and sessions per generation, what they cost, and what the design can detect.

    Of the cells, `reusable` have an earlier row; `canaries` of them are measured again all the same. The sessions
    are those that are paid. `misses` counts why the other cells have no such row. Costs are in dollars and of one
    generation, but `cost_at_most`, which the budget allows the whole run; `wall` are the expected seconds of one
    generation. `warnings` name the limits that it stays within only with luck, `notes` the earlier generations that
    could not be read; `proposing` says what a proposer that pays sessions does beside them, whose cost nobody knows
    beforehand. `test` is what a policy that tests can show at all, and what it is
    expected to pay; null of other policies. Null is unknown, or no limit.
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
    reusable: int
    canaries: int
    reuse_from: str | None
    misses: dict[str, int]
    cost_usd: float | None
    cost_low: float | None
    cost_high: float | None
    cost_at_most: float | None
    cost: str
    wall: float | None
    limits: tuple[str, ...]
    reuse: str
    detects: str
    warnings: tuple[str, ...] = ()
    test: Prospect | None = None
    notes: tuple[str, ...] = ()
    proposing: str | None = None


def make_forecast(
    ground: Ground,
    policy: Policy,
    split: str,
    incumbents: Mapping[str, Skill],
    cancellation: Cancellation,
    errands: Errands | None = None,
    release_test: int = 1,
) -> Forecast:
    """The forecast from the configured arms: the overlay may need fewer of them, never more. Retries of broken
    cells come on top. ConfigError when the policy would count no task at all; BudgetExhausted if no overlay could be
    measured under the budget. `errands` is where a proposer pays its sessions, `release_test`
    counts those of the campaign, with this one.
    """
    config = ground.config
    proposing = proposing_cost(errands, config.generations)
    selected = tuple(config.arms)
    drafted = seal_plan(ground, selected, 0, _ANY)
    arms = make_arms(ground, selected, incumbents, incumbents, _ANY)
    sealed = with_reuse(ground, drafted, arms, cancellation)
    plan = sealed.plan
    refuse_unaffordable(ground, _least_cells(plan, config.arms, incumbents), beside=proposing.least)
    planned = [task for task in ground.tasks if task.id in plan.tasks]
    counted = [task for task in planned if split in ("all", task.split)]
    if not counted:
        raise ConfigError(
            f"promotion.split={split} counts none of the {len(planned)} tasks that tasks.* leaves"
        )
    costs = expect_costs(ground, plan.cells)
    repeats = 1 + max(cell.repeat for cell in plan.cells)
    prospect = prospect_of(policy, plan, counted, expect_costs(ground, plan.paid), release_test)
    sessions = sum((1 + cell.twice) * len(config.arms[cell.arm].sessions) for cell in plan.paid)
    return Forecast(
        suite=config.suite.name,
        agent=ground.agent_name,
        model=config.model.id,
        tasks=dict(sorted(Counter(task.split for task in planned).items())),
        arms=tuple(sorted({cell.arm for cell in plan.cells})),
        repeats=repeats,
        generations=config.generations,
        cells=len(plan.cells),
        sessions=sessions,
        reusable=len(plan.cells) - plan.counts()["fresh"],
        canaries=plan.counts()["canary"],
        reuse_from=plan.reuse_from,
        misses=dict(plan.misses().most_common()),
        cost_usd=_both(costs, costs.usd.expected, proposing),
        cost_low=_both(costs, costs.usd.low, proposing),
        cost_high=_both(costs, costs.usd.high, proposing),
        cost_at_most=sum_at_most(costs.at_most, proposing, config.budget.usd),
        cost=costs.sentence(),
        wall=costs.wall,
        limits=costs.limits,
        reuse=_reuse(plan),
        detects=_detects(policy, counted, repeats) if prospect is None else prospect.words,
        test=prospect,
        warnings=_warnings(
            ground, costs, Amounts(cells=len(plan.paid), sessions=sessions).plus(proposing.least)
        ),
        notes=sealed.notes,
        proposing=proposing.sentence,
    )


def _both(costs: Costs, cells: float | None, proposing: ProposingCost) -> float | None:
    """Dollars of the cells and of proposing, of which nobody knows beforehand what it costs where it costs at all."""
    if not proposing.free:
        return None
    return 0.0 if costs.free else cells


def _detects(policy: Policy, counted: Sequence[Task], repeats: int) -> str:
    return policy.detects(sum(task.class_ != "review-clean" for task in counted), repeats)


def _least_cells(plan: Plan, arms: Mapping[str, ArmSpec], skills: Iterable[str]) -> Sequence[Cell]:
    """The fewest cells that a change of one skill leaves to measure. Where there are earlier rows, those of the
    candidates are not counted: the overlay may have been measured before.
    """
    known = plan.reuse_from is not None
    choices = []
    for skill in skills:
        with suppress(OverlayError):
            selected = required_arms(arms, {skill})
            choices.append(
                [
                    cell
                    for cell in plan.paid
                    if cell.arm in selected and not (known and cell.role == "candidate")
                ]
            )
    return min(choices, key=len, default=())


def _warnings(ground: Ground, costs: Costs, whole: Amounts) -> tuple[str, ...]:
    """The limits that one generation would pass if nothing of it were saved."""
    usd = 0 if costs.free or costs.usd.expected is None else picodollars(costs.usd.expected)
    expected = Amounts(cells=whole.cells, sessions=whole.sessions, picodollars=usd)
    lines = [each.replace("needs at least", "may need") for each in shortfalls(expected, limits_now(ground))]
    left = ground.means.ends.left()
    if left is not None and costs.wall is not None and costs.wall > left:
        lines.append(f"the plan may need {costs.wall:.0f} seconds: the run must end in {left:.0f}")
    return tuple(lines)


def _reuse(plan: Plan) -> str:
    """What earlier rows save, in a sentence."""
    counts = plan.counts()
    if plan.reuse_from is None:
        reason = next(iter(plan.sources)).reason
        return (
            f"none: every cell is measured ({MISSES[reason]})" if reason else "none: every cell is measured"
        )
    if not counts["reused"] + counts["canary"]:
        return f"none: no row of {plan.reuse_from} stands for a cell"
    return (
        f"{counts['reused'] + counts['canary']} cells have a row in {plan.reuse_from}; {counts['canary']} of them are "
        f"measured again to notice drift, {counts['fresh']} have none"
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
        *((f"proposing: {forecast.proposing}",) if forecast.proposing else ()),
        f"cost: {forecast.cost}; reuse: {forecast.reuse}",
        f"time: {_duration(forecast.wall)}",
        *(("limits: " + "; ".join(forecast.limits),) if forecast.limits else ()),
        *_misses(forecast),
        *(f"warning: {each}; it stops there, undecided" for each in forecast.warnings),
        f"can detect: {forecast.detects}",
        *(prospect_lines(forecast.test) if forecast.test else ()),
    )


def _duration(seconds: float | None) -> str:
    """Seconds for people, where earlier rows of all cells say something."""
    return (
        "unknown: not all cells have earlier rows"
        if seconds is None
        else f"about {seconds / 60:.1f} min a generation"
    )


def _misses(forecast: Forecast) -> Iterator[str]:
    """Why cells have no earlier row, the most frequent reasons first."""
    if forecast.reuse_from is None or not forecast.misses:
        return
    shown = list(forecast.misses.items())[:_MOST_REASONS]
    more = len(forecast.misses) - len(shown)
    named = "; ".join(f"{count}: {miss_words(reason)}" for reason, count in shown)
    yield f"cells without an earlier row that stands: {named}{f'; and {more} more reasons' if more else ''}"

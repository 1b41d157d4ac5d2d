"""The plan of a multirun: the first points composed, checked and counted before anything is paid."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice

from msgspec import Struct, structs

from bench.cli_run import Loaded
from bench.config import BudgetConfig, CellBudget, Config, Swept, config_digest
from bench.errors import ConfigError, UserError
from bench.multirun.expansion import Point, expand, most_points
from bench.multirun.model import MULTIRUN_VERSION, MultirunPlan, PlannedPoint

MOST_COMPOSED = 64  # points that are composed before the first one runs
MOST_SHOWN = 20
_MOST_TOLD = 5


Compose = Callable[[Point], Loaded]


class Ask(Struct, frozen=True, kw_only=True):
    """What somebody asked for."""

    swept: Swept
    overrides: Sequence[str]
    config_dirs: Sequence[str]
    max_failures: int | None
    now: datetime


def make_plan(ask: Ask, compose: Compose, cost: Callable[[Config], tuple[int, float | None]]) -> MultirunPlan:
    """The plan; ConfigError names every one of the first points that cannot be composed. `cost` gives cells and the
    most dollars of a run, and is asked once for each different configuration.
    """
    composed = list(_composed(islice(expand(ask.swept), MOST_COMPOSED), compose))
    if not composed:
        raise ConfigError(
            "no point is left to run: every combination is excluded, or no key takes several values\n"
            "  give one several values: evolve -m model=a,b; or start a single run without -m"
        )
    first = composed[0][1]
    points = tuple(_planned(composed, first.budget, cost))
    most = most_points(ask.swept)
    return MultirunPlan(
        schema_version=MULTIRUN_VERSION,
        command=ask.swept.command,
        overrides=tuple(ask.overrides),
        swept=ask.swept,
        most=most,
        points=points,
        budget=first.budget,
        at_most=_ceiling(points, first.budget, more=most > len(composed)),
        seed=first.seed,
        started_at=ask.now,
        max_failures=ask.max_failures,
        config_dirs=tuple(ask.config_dirs),
    )


def refuse_other_budget(shared: BudgetConfig, config: Config, point: Point) -> None:
    """ConfigError for a point with limits of its own: one budget holds for all. What one cell may cost can differ."""
    if _limits(config.budget) != _limits(shared):
        raise ConfigError(
            f"point {point.number} ({point.label}) has another budget than the first point\n"
            "  one budget holds for all points together; give it once, and let only budget.cell differ"
        )


def plan_lines(plan: MultirunPlan) -> Iterator[str]:
    """The plan for people: the points, and what all of them cost at most."""
    different = [each for each in plan.points if each.same_as is None]
    known = len(plan.points) < MOST_COMPOSED or plan.most <= MOST_COMPOSED
    number = str(len(different)) if known else f"up to {plan.most - len(plan.points) + len(different)}"
    yield f"sweep of {number} points, each a run of its own, one after the other:"
    for each in plan.points[:MOST_SHOWN]:
        what = f"the same as point {each.same_as}" if each.same_as else f"up to {each.cells} cells"
        yield f"  {each.number}  {each.label}: {what}"
    if plan.most > MOST_SHOWN and len(plan.points) > MOST_SHOWN:
        yield f"  … and up to {plan.most - MOST_SHOWN} more"
    yield f"cost of all points together: {ceiling_words(plan)}"


def ceiling_words(plan: MultirunPlan) -> str:
    """What all points cost at most, in words."""
    if plan.at_most is None:
        return "no limit is set (budget.usd with budget.cell.usd would set one)"
    return f"at most ${plan.at_most:.2f}" if plan.at_most else "nothing: no point calls a paid model"


def _composed(points: Iterable[Point], compose: Compose) -> Iterator[tuple[Point, Config]]:
    """The points with their configurations. ConfigError lists those that have none, each error once."""
    refused: dict[str, list[str]] = {}
    for point in points:
        try:
            yield point, compose(point).config
        except UserError as error:
            refused.setdefault(str(error), []).append(f"point {point.number} ({point.label})")
    if refused:
        told = [f"{', '.join(names[:_MOST_TOLD])}: {error}" for error, names in refused.items()]
        raise ConfigError("\n".join(["points of the sweep cannot be composed; nothing was started", *told]))


def _planned(
    composed: Sequence[tuple[Point, Config]],
    shared: BudgetConfig,
    cost: Callable[[Config], tuple[int, float | None]],
) -> Iterator[PlannedPoint]:
    seen: dict[str, int] = {}
    for point, config in composed:
        refuse_other_budget(shared, config, point)
        digest = config_digest(config)
        same_as = seen.setdefault(digest, point.number)
        known = PlannedPoint(number=point.number, label=point.label, configuration=digest)
        if same_as != point.number:
            yield structs.replace(known, same_as=same_as)
        else:
            cells, at_most = cost(config)
            yield structs.replace(known, cells=cells, at_most=at_most)


def _ceiling(points: Sequence[PlannedPoint], budget: BudgetConfig, *, more: bool) -> float | None:
    """The least of the shared limit and the sum of what the points may cost, where every point says that."""
    each = [point.at_most for point in points if point.same_as is None]
    known = [most for most in each if most is not None]
    added = None if more or len(known) < len(each) else sum(known)
    limit = None if budget.usd is None else float(budget.usd)
    return min((most for most in (added, limit) if most is not None), default=None)


def _limits(budget: BudgetConfig) -> BudgetConfig:
    """The limits that hold for all points: all but those of one cell."""
    return structs.replace(budget, cell=CellBudget(), unpriced=None)

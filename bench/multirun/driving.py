"""Runs the points of a multirun one after the other: composed as their turn comes, each in a run of its own."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from bench.cancellation import Cancellation
from bench.cli_run import Loaded
from bench.config import config_digest
from bench.errors import BudgetExhausted, BudgetSpent, ConfigError, MeasurementError, UserError
from bench.exits import ExitCode
from bench.multirun.expansion import Point, expand
from bench.multirun.folder import PointJournal, PointState
from bench.multirun.model import MultirunPlan, PointBegun, PointEnded, PointSkipped
from bench.multirun.planning import Compose, refuse_other_budget
from bench.project import RUNS

STOPPING = (ExitCode.BUDGET, ExitCode.INTERRUPTED)


class Turn(Struct, frozen=True, kw_only=True):
    """One point whose turn it is: what it was composed to, the run that an earlier process began for it, the runs that
    share its budget, whom to tell that it has a run, before that pays anything, and what stops it alone.
    """

    point: Point
    loaded: Loaded
    earlier: str | None
    siblings: tuple[str, ...]
    begun: Callable[[str], None]
    cancellation: Cancellation


RunPoint = Callable[[Turn], ExitCode]


class Driver(Struct, frozen=True, kw_only=True):
    """What all points are run with."""

    plan: MultirunPlan
    root: Path
    journal: PointJournal
    compose: Compose
    run: RunPoint
    cancellation: Cancellation
    say: Callable[[str], None]


def drive(driver: Driver) -> ExitCode:
    """Run every point that is not finished. A failed one does not stop the rest, unless there are more than
    `max_failures`; a budget that is spent and an interruption do.
    """
    failures, code = 0, ExitCode.VERDICT
    digests = driver.journal.configurations | {
        each.configuration: each.number for each in reversed(driver.plan.points)
    }
    for point in expand(driver.plan.swept):
        if driver.journal.states.get(point.number, PointState()).finished:
            continue
        ended = _stopped(driver.cancellation) or _ended(driver, point, digests)
        if ended is None:
            continue
        if ended in STOPPING:
            return ended
        if ended is not ExitCode.VERDICT:
            failures, code = failures + 1, ExitCode.UNUSABLE
            most = driver.plan.max_failures
            if most is not None and failures > most:
                driver.say(f"more than --max-failures {most} points failed: the rest is not begun")
                break
    return code


def _stopped(cancellation: Cancellation) -> ExitCode | None:
    if not cancellation.cancelled:
        return None
    return ExitCode.BUDGET if cancellation.cause == "deadline" else ExitCode.INTERRUPTED


def _ended(driver: Driver, point: Point, digests: dict[str, int]) -> ExitCode | None:
    """What became of one point, once that is written down; None for one that is an earlier point again."""
    earlier = driver.journal.states.get(point.number, PointState()).run
    try:
        loaded = driver.compose(point)
        digest = config_digest(loaded.config)
        _refuse_changed(driver.plan, point, digest)
        refuse_other_budget(driver.plan.budget, loaded.config, point)
        same_as = digests.setdefault(digest, point.number)
        if same_as != point.number:
            driver.journal.add(PointSkipped(point=point.number, label=point.label, same_as=same_as))
            return None
        driver.say(f"\npoint {point.number}: {point.label}")
        spenders = driver.journal.spenders(driver.root / RUNS)
        with driver.cancellation.part() as own:
            turn = Turn(
                point=point,
                loaded=loaded,
                earlier=earlier,
                siblings=tuple(run for run in spenders if run != earlier),
                begun=lambda run: driver.journal.add(
                    PointBegun(point=point.number, label=point.label, run=run, configuration=digest)
                ),
                cancellation=own,
            )
            code, error = driver.run(turn), None
    except (UserError, MeasurementError) as failure:
        spent = isinstance(failure, BudgetSpent | BudgetExhausted)
        code, error = ExitCode.BUDGET if spent else ExitCode.REQUEST, str(failure)
        driver.say(f"point {point.number} ({point.label}) failed: {error}")
    run = driver.journal.states.get(point.number, PointState()).run
    there = run if run and (driver.root / RUNS / run).is_dir() else None
    driver.journal.add(
        PointEnded(point=point.number, label=point.label, run=there, code=int(code), error=error)
    )
    return code


def _refuse_changed(plan: MultirunPlan, point: Point, digest: str) -> None:
    """ConfigError if a point is no longer what it was when the plan was sealed."""
    sealed = plan.points[point.number - 1].configuration if point.number <= len(plan.points) else digest
    if sealed != digest:
        raise ConfigError(
            f"point {point.number} ({point.label}) composes to another configuration than when the sweep began: an "
            "option file was changed\n  put it back, or start a new sweep: rows that still hold are reused"
        )

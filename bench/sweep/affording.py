"""Whether a plan can finish under its budget, known before it starts: what it needs at the least, and what is left."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.arms import read_sessions
from bench.arms.model import Cell
from bench.errors import BudgetExhausted
from bench.project import RunFolder
from bench.results import read_rows
from bench.spend import (
    JOURNAL,
    LEAST_FREE,
    LEAST_PAID,
    NOTHING,
    Amounts,
    Limit,
    Terms,
    campaign_caps,
    campaign_runs,
    limits_of,
    read_ledger,
    run_caps,
    session_seconds,
    shown,
    siblings_spent,
    total,
)
from bench.sweep.ground import Ground
from bench.sweep.looks import extent
from bench.sweep.model import Plan

_FEWER = "measure fewer tasks (tasks.id=…) or fewer repeats, or "
_BEGUN = "a run keeps its limits: start a new one (without reuse=none, what this one measured is reused), and there "


def least_need(cells: Iterable[Cell], terms: Terms) -> Amounts:
    """What cells use at the very least: one session for each measurement, because a first one may decide its cell;
    money only where each session counts as a declared amount.
    """
    cells = tuple(cells)
    sessions = sum(1 + cell.twice for cell in cells)
    declared = terms.unpriced if terms.calls_model and terms.price is None else None
    return Amounts(cells=len(cells), sessions=sessions, picodollars=sessions * (declared or 0))


def shortfalls(need: Amounts, limits: Sequence[Limit], used: Amounts = NOTHING) -> tuple[str, ...]:
    """A sentence for each limit that the need does not fit under; `used` is what the run itself has spent."""
    return tuple(
        _sentence(need, limit, limit.before + used.of(limit.unit))
        for limit in limits
        if need.of(limit.unit) and limit.before + used.of(limit.unit) + need.of(limit.unit) > limit.most
    )


def refuse_unaffordable(
    ground: Ground, cells: Iterable[Cell], run: RunFolder | None = None, beside: Amounts = NOTHING
) -> None:
    """BudgetExhausted if these cells, and what is needed `beside` them, cannot all be paid under the limits of the run
    and its campaign, or in the time that is left. `run` is one that has begun.
    """
    need = least_need(cells, ground.means.terms).plus(beside)
    used = NOTHING if run is None else read_ledger(run.path / JOURNAL).settled
    short = shortfalls(need, limits_now(ground, run), used)
    if short:
        listed = "\n  ".join((*short[1:], f"{_BEGUN if run else _FEWER}raise the limit"))
        raise BudgetExhausted(f"{short[0]}\n  {listed}")
    left = ground.means.ends.left()
    least = LEAST_PAID if ground.means.terms.calls_model else LEAST_FREE
    if need.sessions and session_seconds(ground.config.timeout, left, least, ()) is None:
        raise BudgetExhausted(
            f"the run must end in {left or 0:.1f} seconds, and no session is started with less than "
            f"{min(least, ground.config.timeout):g}\n"
            f"  {_BEGUN if run else ''}raise budget.wall, or give a later budget.deadline"
        )


def refuse_unfinishable(ground: Ground, plan: Plan, folder: Path, run: RunFolder) -> None:
    """The same of a sweep that was begun: those of its cells for which nothing was ever paid need at least as much.
    RunError if its rows or its journal cannot be read.
    """
    rows, journal = folder / "results.jsonl", folder / "journal.jsonl"
    begun = {row.key for row in read_rows(rows)[0]} if rows.exists() else set()
    begun |= {entry.cell for entry in read_sessions(journal)}
    begun |= extent(folder, plan).spared
    left = [cell for cell in plan.paid if cell.key not in begun]
    if left:
        refuse_unaffordable(ground, left, run)


def limits_now(ground: Ground, run: RunFolder | None = None) -> tuple[Limit, ...]:
    """The limits of the run and its campaign, with what other runs have used."""
    others = campaign_runs(ground.root, ground.config, ground.means.terms, without=run.id if run else None)
    shared = siblings_spent(ground.root, ground.means.siblings, ground.means.terms)
    budget = ground.config.budget
    return limits_of(run_caps(budget), campaign_caps(budget), total(others), shared)


def _sentence(need: Amounts, limit: Limit, used: int) -> str:
    spent = f", of which {shown(limit.unit, used)} are used" if used else ""
    return (
        f"the plan needs at least {shown(limit.unit, need.of(limit.unit))}: more than the "
        f"{shown(limit.unit, limit.most)} that {limit.key} allows{spent}"
    )

"""What a policy that tests can show with a plan, and what that is expected to take, before anything is paid. Pure."""

from collections.abc import Sequence

from msgspec import Struct

from bench.suite import Task
from bench.sweep import Costs, Plan
from evolve.gate import Design, Policy, Reachability, TestingPolicy, counts_clean


class Expected(Struct, frozen=True, kw_only=True):
    """The cells that one generation is expected to measure, and their dollars; null is unknown."""

    cells: float
    cost_usd: float | None


class Prospect(Struct, frozen=True, kw_only=True):
    """What the pair of arms with the fewest tasks can show, in numbers and words; and what a generation is expected
    to pay if the candidate is no better, and if it is better by the target.
    """

    reach: Reachability
    words: str
    no_effect: Expected
    target: Expected


def prospect_of(
    policy: Policy, plan: Plan, counted: Sequence[Task], costs: Costs, release_test: int
) -> Prospect | None:
    """The prospect of a plan whose `counted` tasks decide; `costs` are those of the cells that it pays. None of a
    policy that does not test.
    """
    if not isinstance(policy, TestingPolicy):
        return None
    reach = policy.reaches(_design(policy, plan, counted, release_test))
    passing = 1.0 if reach.power is None else reach.power
    return Prospect(
        reach=reach,
        words=policy.told(reach),
        no_effect=_expected(plan, costs, reach.share_no_effect, reach.level),
        target=_expected(plan, costs, reach.share_target, passing),
    )


def prospect_lines(prospect: Prospect) -> tuple[str, ...]:
    """For people."""
    none, target = _words(prospect.no_effect), _words(prospect.target)
    effect = f"{100 * prospect.reach.target:.3g} points or %"
    return (
        f"expected: {none} if the candidate is no better, {target} if it is better by the target of {effect}",
    )


def _design(policy: TestingPolicy, plan: Plan, counted: Sequence[Task], release_test: int) -> Design:
    """Every pair of arms has to show something: the one with the fewest tasks finds the least."""
    ranked = {task.id for task in counted if counts_clean(policy) or task.class_ != "review-clean"}
    arms = {cell.arm for cell in plan.cells if cell.role == "candidate"}
    tasks = [len({cell.task for cell in plan.cells if cell.arm == arm} & ranked) for arm in arms]
    return Design(
        tasks=min(tasks, default=len(ranked)),
        repeats=1 + max(cell.repeat for cell in plan.cells),
        deterministic=plan.declared.deterministic,
        release_test=release_test,
    )


def _expected(plan: Plan, costs: Costs, share: float, passing: float) -> Expected:
    """A share of the cells that are paid, and the reused cells of paired arms with the chance of `passing`: then they
    are measured after all. These are taken to cost what the others do.
    """
    paid = len(plan.paid)
    reused = sum(
        plan.source(cell).kind == "reused" and cell.role in ("incumbent", "candidate") for cell in plan.cells
    )
    cells = paid * share + reused * passing
    usd = 0.0 if costs.free else costs.usd.expected
    per_cell = None if usd is None or not paid else usd / paid
    return Expected(cells=round(cells, 1), cost_usd=None if per_cell is None else round(per_cell * cells, 4))


def _words(expected: Expected) -> str:
    usd = "unknown dollars" if expected.cost_usd is None else f"${expected.cost_usd:.2f}"
    return f"{expected.cells:g} cells and {usd}"

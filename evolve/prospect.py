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
    usd, cells = 0.0 if costs.free else costs.usd.expected, len(plan.paid)
    return Prospect(
        reach=reach,
        words=policy.told(reach),
        no_effect=_expected(cells, usd, reach.share_no_effect),
        target=_expected(cells, usd, reach.share_target),
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


def _expected(cells: int, usd: float | None, share: float) -> Expected:
    return Expected(cells=round(cells * share, 1), cost_usd=None if usd is None else round(usd * share, 4))


def _words(expected: Expected) -> str:
    usd = "unknown dollars" if expected.cost_usd is None else f"${expected.cost_usd:.2f}"
    return f"{expected.cells:g} cells and {usd}"

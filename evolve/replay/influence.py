"""What it would take to change a decision: a task less, or cells that come out the other way round. Pure."""

from collections.abc import Callable, Iterator

from msgspec import structs

from evolve.certify import arm_of
from evolve.gate import Decision, Evidence, PairEvidence, Policy, RowEvidence, TaskEvidence
from evolve.replay.model import Influence

BETTER_COST, WORSE_COST = 0.5, 2.0  # a cell "the other way round" takes half, or twice as much


def influences(policy: Policy, evidence: Evidence) -> Iterator[Influence]:
    """The influence of each task that counts, by id."""
    decided = policy.decide(evidence).decision
    for task in sorted(
        {task.task for pair in evidence.pairs for task in pair.tasks if _counts(task, evidence)}
    ):
        without = policy.decide(_without(evidence, task)).decision
        cells, then = _fewest(policy, evidence, task, decided)
        yield Influence(task=task, without=without, flips=without != decided, cells=cells, then=then)


def _counts(task: TaskEvidence, evidence: Evidence) -> bool:
    return evidence.split in ("all", task.split)


def _fewest(
    policy: Policy, evidence: Evidence, task: str, decided: Decision
) -> tuple[int | None, Decision | None]:
    """The fewest cells, counted up: a decision need not be monotone under every policy."""
    better = decided != "promote"
    for cells in range(1, _most(evidence, task, better) + 1):
        then = policy.decide(_turned(evidence, task, cells, better)).decision
        if then != decided:
            return cells, then
    return None, None


def _most(evidence: Evidence, task: str, better: bool) -> int:
    """How many cells of the candidate can be turned at all."""
    return max(
        (
            sum(_turn(row, better) != row for row in each.candidate.rows)
            for pair in evidence.pairs
            for each in pair.tasks
            if each.task == task and each.candidate is not None
        ),
        default=0,
    )


def _turned(evidence: Evidence, task: str, cells: int, better: bool) -> Evidence:
    """The evidence with the first `cells` rows of the candidate on this task turned."""

    def turn(each: TaskEvidence) -> TaskEvidence:
        if each.task != task or each.candidate is None:
            return each
        rows = sorted(
            each.candidate.rows,
            key=lambda row: (_turn(row, better) == row, row.resolved == better, row.repeat),
        )
        made = [*(_turn(row, better) for row in rows[:cells]), *rows[cells:]]
        arm = arm_of(sorted(made, key=lambda row: row.repeat), each.candidate.aggregate.runs)
        return structs.replace(each, candidate=arm)

    return _mapped(evidence, lambda pair: tuple(turn(each) for each in pair.tasks))


def _turn(row: RowEvidence, better: bool) -> RowEvidence:
    """The row as it would be if it had come out well (or badly): outcome, score and price."""
    factor = BETTER_COST if better else WORSE_COST
    score = row.score
    if score is not None:
        f1 = None if score.weighted_f1 is None else float(better)
        score = structs.replace(score, weighted_f1=f1, verdict_right=better)
    return structs.replace(
        row,
        resolved=better,
        score=score,
        cost_usd=None if row.cost_usd is None else row.cost_usd * factor,
        seconds=row.seconds * factor,
    )


def _without(evidence: Evidence, task: str) -> Evidence:
    return _mapped(evidence, lambda pair: tuple(each for each in pair.tasks if each.task != task))


def _mapped(evidence: Evidence, tasks: Callable[[PairEvidence], tuple[TaskEvidence, ...]]) -> Evidence:
    pairs = tuple(structs.replace(pair, tasks=tasks(pair)) for pair in evidence.pairs)
    return structs.replace(evidence, pairs=pairs)

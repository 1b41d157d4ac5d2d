"""Trials on a user's own rows: the labels of the two arms exchanged, effects planted. Pure but for the given chance."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

from msgspec import Struct, structs

from bench.scoring import ReviewScore
from evolve.certify.arms import arm_of, at_repeat
from evolve.certify.worlds import evidence_of
from evolve.gate import Evidence, PairEvidence, RowEvidence, TaskEvidence


class Measured(Struct, frozen=True, kw_only=True):
    """Complete pairs of rows by task: (incumbent, candidate) for each repeat. All count as fresh here."""

    tasks: tuple[TaskEvidence, ...]
    pairs: tuple[tuple[tuple[RowEvidence, RowEvidence], ...], ...]
    deterministic: bool = False
    calls_model: bool = True

    @property
    def repeats(self) -> int:
        """The pairs of the task that has the fewest."""
        return min((len(each) for each in self.pairs), default=0)


def measured_pairs(pair: PairEvidence, evidence: Evidence) -> Measured:
    """The complete pairs of the split's tasks; a task without one is left out."""
    tasks = [
        task
        for task in sorted(pair.tasks, key=lambda each: each.task)
        if evidence.split in ("all", task.split)
    ]
    found = [(task, tuple(_complete(task))) for task in tasks]
    least = min((len(pairs) for _, pairs in found if pairs), default=0)
    return Measured(
        tasks=tuple(task for task, pairs in found if pairs),
        pairs=tuple(pairs[:least] for _, pairs in found if pairs),
        deterministic=evidence.deterministic,
        calls_model=evidence.calls_model,
    )


def permuted(measured: Measured, random: Random, test: int = 1, effect: float = 0.0) -> Evidence:
    """Both arms' rows dealt out by a coin per pair: the arms are the same then, whatever they were. An `effect` is
    planted on top: so many more (or fewer) of the candidate's cells are resolved, taken from those that were not.
    """
    dealt = [[_toss(pair, random) for pair in pairs] for pairs in measured.pairs]
    plant = _planter(dealt, effect, random)
    tasks = [_task(task, pairs, plant) for task, pairs in zip(measured.tasks, dealt, strict=True)]
    made = evidence_of(tasks, test, deterministic=measured.deterministic)
    return structs.replace(made, calls_model=measured.calls_model)


def _complete(task: TaskEvidence) -> Iterator[tuple[RowEvidence, RowEvidence]]:
    if task.incumbent is None or task.candidate is None:
        return
    now = {row.repeat: row for row in task.candidate.rows}
    before = [row for row in task.incumbent.rows if row.repeat in now]
    for repeat, row in enumerate(sorted(before, key=lambda each: each.repeat)):
        yield _fresh(row, repeat), _fresh(now[row.repeat], repeat)


def _fresh(row: RowEvidence, repeat: int) -> RowEvidence:
    return structs.replace(at_repeat(row, repeat), fresh=True)


def _toss(pair: tuple[RowEvidence, RowEvidence], random: Random) -> tuple[RowEvidence, RowEvidence]:
    return pair if random.random() < 0.5 else (pair[1], pair[0])  # noqa: PLR2004


def _planter(
    dealt: Sequence[Sequence[tuple[RowEvidence, RowEvidence]]], effect: float, random: Random
) -> Callable[[RowEvidence], RowEvidence]:
    """Turns unresolved rows into resolved ones (or back), each with the chance that gives the effect on average."""
    rows = [row for pairs in dealt for _, row in pairs]
    wanted = effect > 0
    open_ = sum(row.resolved != wanted for row in rows)
    chance = min(1.0, abs(effect) * len(rows) / open_) if open_ else 0.0

    def plant(row: RowEvidence) -> RowEvidence:
        hit = row.resolved != wanted and random.random() < chance
        return structs.replace(row, resolved=wanted, score=_scored(row.score, wanted)) if hit else row

    return plant if effect else lambda row: row


def _scored(score: ReviewScore | None, resolved: bool) -> ReviewScore | None:
    """The score of a row whose outcome was planted."""
    if score is None:
        return None
    f1 = None if score.weighted_f1 is None else float(resolved)
    return structs.replace(score, verdict_right=resolved, weighted_f1=f1)


def _task(
    task: TaskEvidence,
    pairs: Sequence[tuple[RowEvidence, RowEvidence]],
    plant: Callable[[RowEvidence], RowEvidence],
) -> TaskEvidence:
    return structs.replace(
        task,
        incumbent=arm_of([before for before, _ in pairs]),
        candidate=arm_of([plant(now) for _, now in pairs]),
    )

"""How a candidate stands at a look inside a sweep. Pure."""

from typing import Literal

from msgspec import structs

from evolve.gate.model import ArmEvidence, Evidence, PairEvidence, TaskEvidence, Verdict

# shown: the verdict now would promote; survives: it would, if no row of it were reused; futile: it hardly can any more
Stand = Literal["shown", "survives", "futile", "open"]


def promoted(verdict: Verdict) -> frozenset[str]:
    """The candidate arms that a verdict promotes, each by itself."""
    return frozenset(pair.candidate_arm for pair in verdict.pairs if pair.decision == "promote")


def as_if_fresh(evidence: Evidence) -> Evidence:
    """The evidence as if every row of it had been measured in this sweep: what its reused rows would say."""
    return structs.replace(evidence, pairs=tuple(_fresh_pair(pair) for pair in evidence.pairs))


def _fresh_pair(pair: PairEvidence) -> PairEvidence:
    return structs.replace(pair, tasks=tuple(_fresh_task(task) for task in pair.tasks))


def _fresh_task(task: TaskEvidence) -> TaskEvidence:
    return structs.replace(task, incumbent=_fresh_arm(task.incumbent), candidate=_fresh_arm(task.candidate))


def _fresh_arm(arm: ArmEvidence | None) -> ArmEvidence | None:
    if arm is None:
        return None
    return structs.replace(arm, rows=tuple(structs.replace(row, fresh=True) for row in arm.rows))

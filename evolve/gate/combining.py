"""What other tests than a policy's own take from the gate: paired samples of an arm, and exact levels both ways. Pure."""

from collections.abc import Sequence
from fractions import Fraction

from evolve.gate.endpoints import Endpoint
from evolve.gate.flips import flip_test
from evolve.gate.judging import counted, ranked_tasks
from evolve.gate.model import Evidence, PairEvidence
from evolve.gate.primary import flip_values
from evolve.gate.samples import Side, TaskSample, planned_repeats, sample
from evolve.gate.signs import sign_test


def paired_samples(pair: PairEvidence, endpoint: Endpoint, evidence: Evidence) -> tuple[TaskSample, ...]:
    """Every planned pair of the tasks that count and have the endpoint."""
    tasks = ranked_tasks(counted(pair, evidence.split), endpoint)
    return sample(tasks, endpoint, planned_repeats(tasks, deterministic=evidence.deterministic))


def compared_values(samples: Sequence[TaskSample], endpoint: Endpoint, side: Side) -> list[int]:
    """What is exchanged as one, in units that depend on their number alone; positive is in the candidate's favour."""
    return flip_values(samples, endpoint, side)


def gain_level(values: Sequence[int], endpoint: Endpoint) -> Fraction:
    """The one-sided exact p-value for a gain."""
    if endpoint.kind == "binary":
        return sign_test(sum(value > 0 for value in values), sum(value < 0 for value in values))
    return flip_test(values)


def loss_level(values: Sequence[int], endpoint: Endpoint) -> Fraction:
    """The one-sided exact p-value for a loss."""
    return gain_level([-value for value in values], endpoint)

"""One pair of arms by a test: what is missing, what harms, what is shown. Shared by `exact` and `anytime`."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec import UNSET, Struct

from evolve.gate.endpoints import Endpoint, endpoint_named
from evolve.gate.guards import GuardSample, breaks, fresh_only, guard_samples
from evolve.gate.model import Evidence, PairEvidence, TaskEvidence
from evolve.gate.parameters import TestingParameters
from evolve.gate.primary import Finding, Test
from evolve.gate.samples import (
    Pairing,
    Side,
    TaskSample,
    kept,
    missing_cells,
    planned_repeats,
    reused_cells,
    sample,
)
from evolve.gate.spending import as_fraction
from evolve.gate.thresholds import is_clean

ROLES = ("incumbent", "candidate")


class Question(Struct, frozen=True, kw_only=True):
    """What a test is asked about one pair of arms: the pairs, the guards, the level, the looks."""

    endpoint: Endpoint
    samples: tuple[TaskSample, ...]
    guards: tuple[GuardSample, ...]
    level: Fraction
    guard_level: Fraction
    schedule: tuple[int, ...]


class Outcome(Struct, frozen=True, kw_only=True):
    """The answer with every unknown pair at one side."""

    finding: Finding
    broken: tuple[str, ...]

    @property
    def promotes(self) -> bool:
        """Shown, and nothing breaks."""
        return self.finding.promote and not self.broken


class Answer(Struct, frozen=True, kw_only=True):
    """Both sides of a question; they are the same where nothing is unknown."""

    question: Question
    worst: Outcome
    best: Outcome


def ask(pair: PairEvidence, evidence: Evidence, parameters: TestingParameters) -> Question:
    """The question that the evidence on one pair of arms poses."""
    tasks = counted(pair, evidence.split)
    repeats = planned_repeats(tasks, deterministic=evidence.deterministic)
    endpoint = endpoint_named(parameters.endpoint)
    campaign = evidence.campaign
    # a sweep that was stopped early has no repeat yet of which a task knows both arms
    schedule = (
        (max(repeats, 1),) if evidence.looks is UNSET or evidence.deterministic else tuple(evidence.looks)
    )
    return Question(
        endpoint=endpoint,
        samples=sample(ranked_tasks(tasks, endpoint), endpoint, repeats),
        guards=guard_samples(
            parameters.guards, tasks, repeats, is_clean, deterministic=evidence.deterministic
        ),
        level=parameters.level(None if campaign is UNSET else campaign.release_test),
        guard_level=as_fraction(parameters.alpha_guard),
        schedule=schedule,
    )


def counted(pair: PairEvidence, split: str) -> list[TaskEvidence]:
    """The tasks of the split, by id."""
    return sorted((task for task in pair.tasks if split in ("all", task.split)), key=lambda each: each.task)


def ranked_tasks(tasks: Sequence[TaskEvidence], endpoint: Endpoint) -> list[TaskEvidence]:
    """The tasks that have the endpoint at all: a clean control has no F1."""
    return [task for task in tasks if not (endpoint.name == "weighted_f1" and is_clean(task))]


def answer(question: Question, test: Test) -> Answer:
    """The question at both sides; the second one is computed only if something is unknown."""
    worst = _at(question, "worst", test)
    unknown = missing_cells(question.samples) or any(missing_cells(each.samples) for each in question.guards)
    return Answer(question=question, worst=worst, best=_at(question, "best", test) if unknown else worst)


def only_fresh(question: Question) -> Question:
    """The same question to the pairs that were measured in this sweep."""
    return Question(
        endpoint=question.endpoint,
        samples=kept(question.samples, _fresh),
        guards=tuple(fresh_only(guard, _fresh) for guard in question.guards),
        level=question.level,
        guard_level=question.guard_level,
        schedule=question.schedule,
    )


def unknown_cells(question: Question) -> tuple[str, ...]:
    """Every cell of which the test or a guard lacks a number, with what it lacks."""
    found = {question.endpoint.name: missing_cells(question.samples)}
    found |= {guard.endpoint.name: missing_cells(guard.samples) for guard in question.guards}
    named: dict[str, list[str]] = {}
    for number, cells in found.items():
        for cell in cells:
            named.setdefault(cell, []).append(number)
    return tuple(f"{cell} ({', '.join(numbers)})" for cell, numbers in sorted(named.items()))


def thin_tasks(question: Question, least: int) -> Iterator[str]:
    """The tasks with fewer pairs than needed."""
    yield from (each.task for each in question.samples if len(each.pairs) < least)


def uneven_tasks(question: Question) -> tuple[str, ...]:
    """The tasks of which one arm has more known cells than the other."""
    return tuple(
        each.task for each in question.samples if len({_unknown_of(each, role) for role in ROLES}) > 1
    )


def has_reused(question: Question) -> bool:
    """Whether any pair rests on a row of an earlier sweep."""
    return bool(reused_cells(question.samples))


def fresh_is_complete(question: Question, least: int) -> bool:
    """Whether every task has the same number of fresh pairs, and enough of them."""
    counts = {sum(not pair.reused for pair in each.pairs) for each in question.samples}
    return len(counts) == 1 and min(counts) >= least


def _unknown_of(sample: TaskSample, role: str) -> int:
    return sum(cell.startswith(f"{role}/") for pair in sample.pairs for cell in pair.cells)


def _fresh(pair: Pairing) -> bool:
    return not pair.reused


def _at(question: Question, side: Side, test: Test) -> Outcome:
    broken = [reason for guard in question.guards for reason in breaks(guard, side, question.guard_level)]
    finding = test(question.samples, question.endpoint, side, question.level, question.schedule)
    return Outcome(finding=finding, broken=tuple(broken))

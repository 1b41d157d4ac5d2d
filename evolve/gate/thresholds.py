"""What the policies of fixed thresholds have in common: reasons, what evidence lacks, and what outweighs what."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from bench.errors import ConfigError
from bench.results import known_mean
from evolve.gate.model import (
    ArmEvidence,
    Decision,
    Evidence,
    PairEvidence,
    PairVerdict,
    Statistics,
    TaskEffect,
    TaskEvidence,
    TaskVerdict,
)

EPSILON = 1e-9

Effect = Literal["insufficient", "regression", "improvement", "note"]
Parameters = TypeVar("Parameters", bound=Struct)


class Reason(Struct, frozen=True):
    """What one rule says, and what follows from it."""

    effect: Effect
    text: str


class PairFindings(Struct, frozen=True, kw_only=True):
    """What a policy found out about a pair of arms; the decision follows from the effects of the reasons."""

    reasons: tuple[Reason, ...]
    tasks: tuple[TaskVerdict, ...]
    means: Mapping[str, tuple[float | None, float | None]]
    median_change: float | None = None
    statistics: Statistics | UnsetType = UNSET


class Decided(Struct, frozen=True):
    """The decision over all pairs, every reason for it, and the pairs in the order of their names."""

    decision: Decision
    reasons: tuple[str, ...]
    pairs: tuple[PairVerdict, ...]


def decide_pairs(
    evidence: Evidence, judge: Callable[[PairEvidence], PairFindings], notes: Sequence[str] = ()
) -> Decided:
    """Judge each pair: promote only if every one of them says so and nothing is missing. `notes` decide nothing."""
    general = tuple(missing_in_general(evidence))
    notes = (*notes, *_reused(evidence))
    ordered = sorted(evidence.pairs, key=lambda pair: (pair.candidate_arm, pair.incumbent_arm))
    found = [judge(pair) for pair in ordered]
    pairs = tuple(
        _pair_verdict(pair, findings, general, notes) for pair, findings in zip(ordered, found, strict=True)
    )
    own = (
        f"{pair.candidate_arm}: {reason.text}" if len(pairs) > 1 else reason.text
        for pair, findings in zip(ordered, found, strict=True)
        for reason in findings.reasons
    )
    return Decided(
        decision="insufficient_evidence" if general else _strictest({pair.decision for pair in pairs}),
        reasons=(*(reason.text for reason in general), *own, *notes),
        pairs=pairs,
    )


def missing_in_general(evidence: Evidence) -> Iterator[Reason]:
    """What makes the whole evidence insufficient."""
    if evidence.model is None:
        yield Reason("insufficient", "no model is named: nobody could say what this was measured with")
    if evidence.stopped is not None:
        yield Reason("insufficient", f"the sweep did not complete ({evidence.stopped}): it cannot promote")
    if evidence.drift is not None:
        yield Reason("insufficient", f"reused rows are not what would be measured now: {evidence.drift}")
    if not evidence.pairs:
        yield Reason("insufficient", "no candidate arm was measured")


def _reused(evidence: Evidence) -> Iterator[str]:
    """These policies hold no error rate that reused rows could break; a reader shall know of them all the same."""
    fresh, reused = evidence.sources()
    if reused:
        yield f"note: {reused} of the {fresh + reused} rows compared were measured in an earlier sweep"


def counted_tasks(pair: PairEvidence, split: str) -> list[TaskEvidence]:
    """The tasks of the split, in the order of their ids; the others decide nothing."""
    return [task for task in sorted(pair.tasks, key=lambda each: each.task) if split in ("all", task.split)]


def no_task(split: str) -> Reason:
    """The reason where no task counts."""
    return Reason("insufficient", f"no task of split {split} was planned")


def needed_runs(evidence: Evidence, min_runs: int) -> int:
    """Measured cells that an arm needs per task: repeats of a deterministic agent count the same thing again."""
    return 1 if evidence.deterministic else min_runs


def missing_arms(task: TaskEvidence) -> Iterator[Reason]:
    """Whether an arm has no row at all."""
    missing = [name for name in ("incumbent", "candidate") if getattr(task, name) is None]
    if missing:
        yield Reason("insufficient", f"nothing was measured of the {' and the '.join(missing)}")


def missing_runs(incumbent: ArmEvidence, candidate: ArmEvidence, runs: int) -> Iterator[Reason]:
    """Whether there is enough, the same of both, with nothing left out."""
    for name, arm in (("incumbent", incumbent), ("candidate", candidate)):
        total = arm.aggregate
        if total.measured < runs:
            yield Reason("insufficient", f"measured cells of the {name}: {total.measured}, needed: {runs}")
        if total.measured != len(arm.rows):
            yield Reason(
                "insufficient", f"{len(arm.rows)} of {total.measured} rows of the {name} are at hand"
            )
        if total.excluded or total.runs != total.measured:
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(total.excluded.items()))
            yield Reason(
                "insufficient", f"cells of the {name} could not be measured: {kinds or 'kind unknown'}"
            )
    if incumbent.aggregate.measured != candidate.aggregate.measured:
        counts = f"{incumbent.aggregate.measured} of the incumbent, {candidate.aggregate.measured} of the candidate"
        yield Reason("insufficient", f"unequal numbers of measured cells: {counts}")


def hardly_used(tasks: Iterable[TaskEvidence]) -> Iterator[Reason]:
    """Whether the candidate's skill was used in fewer than half of its measured cells: what promotes then is not
    the skill. A cell that expected no skill counts as one that used none.
    """
    rows = [row for task in tasks if task.candidate for row in task.candidate.rows]
    used = sum(row.skill_invoked is True for row in rows)
    if 2 * used < len(rows):
        cells = f"{used} of {len(rows)} measured cells"
        yield Reason("regression", f"the candidate used its skill in {cells}, fewer than half")


def about(task: TaskEvidence, reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """The reasons under the name of their task."""
    return tuple(Reason(reason.effect, f"task {task.task}: {reason.text}") for reason in reasons)


def effect_of(reasons: Iterable[Reason]) -> TaskEffect:
    """What all the reasons of a task come to; the gravest counts."""
    effects = {reason.effect for reason in reasons}
    if "insufficient" in effects:
        return "unknown"
    if "regression" in effects:
        return "worse"
    return "better" if "improvement" in effects else "same"


def is_clean(task: TaskEvidence) -> bool:
    """By its labels where something was measured, else by its class."""
    flags = {arm.aggregate.clean_control for arm in (task.incumbent, task.candidate) if arm}
    return True in flags if flags - {None} else task.task_class == "review-clean"


def means_by_split(
    tasks: Sequence[TaskEvidence],
    counts: Callable[[TaskEvidence], bool],
    ranked: Callable[[ArmEvidence | None], float | None],
) -> dict[str, tuple[float | None, float | None]]:
    """Mean of the ranked number of both arms over the tasks that count: over all of them, and by split."""
    groups = {"all": tasks} | {
        split: [task for task in tasks if task.split == split] for split in {task.split for task in tasks}
    }
    return {name: _mean_of_both(filter(counts, groups[name]), ranked) for name in sorted(groups)}


def options_schema(parameters: type[Struct]) -> Mapping[str, Any]:
    """The JSON Schema of a policy's options."""
    definitions: dict[str, Any] = dict(msgspec.json.schema(parameters)["$defs"])
    schema: dict[str, Any] = definitions.pop(parameters.__name__)
    return schema | ({"$defs": definitions} if definitions else {})


def read_options(policy: str, options: Mapping[str, Any], parameters: type[Parameters]) -> Parameters:
    """The options as parameters; ConfigError names the first that is missing, unknown or out of range."""
    try:
        return msgspec.convert(dict(options), parameters)
    except msgspec.ValidationError as error:
        raise ConfigError(f"promotion.options of {policy}: {error}") from error


def _pair_verdict(
    pair: PairEvidence, findings: PairFindings, general: Sequence[Reason], notes: Sequence[str]
) -> PairVerdict:
    reasons = (*general, *findings.reasons)
    return PairVerdict(
        incumbent_arm=pair.incumbent_arm,
        candidate_arm=pair.candidate_arm,
        decision=_decision(reasons),
        reasons=(*(reason.text for reason in reasons), *notes),
        tasks=findings.tasks,
        means=findings.means,
        median_change=findings.median_change,
        statistics=findings.statistics,
    )


def _decision(reasons: Iterable[Reason]) -> Decision:
    """Insufficient beats keep, keep beats promote, and nothing promotes without an improvement."""
    effects = {reason.effect for reason in reasons}
    if "insufficient" in effects:
        return "insufficient_evidence"
    return "promote" if "improvement" in effects and "regression" not in effects else "keep_incumbent"


def _strictest(decisions: set[Decision]) -> Decision:
    if "insufficient_evidence" in decisions:
        return "insufficient_evidence"
    return "keep_incumbent" if "keep_incumbent" in decisions else "promote"


def _mean_of_both(
    tasks: Iterable[TaskEvidence], ranked: Callable[[ArmEvidence | None], float | None]
) -> tuple[float | None, float | None]:
    counted = list(tasks)
    return (
        known_mean([ranked(task.incumbent) for task in counted]),
        known_mean([ranked(task.candidate) for task in counted]),
    )

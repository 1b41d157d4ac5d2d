"""`threshold_review`: fixed thresholds on review quality, the rules of research/gitnexus.md §3.3 in their order."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from bench.errors import ConfigError
from bench.results import Aggregate, known_mean
from evolve.gate.model import (
    ArmEvidence,
    Decision,
    Evidence,
    PairEvidence,
    PairVerdict,
    Policy,
    TaskEvidence,
    TaskVerdict,
    Verdict,
)

NAME = "threshold_review"
METRIC = "weighted_f1"
EPSILON = 1e-9

Effect = Literal["insufficient", "regression", "improvement", "note"]


class Parameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of `threshold_review`; none has a default outside conf/promotion."""

    min_runs: Annotated[
        int,
        Meta(
            ge=1,
            description="Measured cells that each arm needs per task; one of a deterministic agent is enough.",
        ),
    ]
    min_improvement: Annotated[
        float,
        Meta(
            gt=0,
            le=1,
            description="How much better (weighted F1, absolute) some task with a defect must become.",
        ),
    ]
    verdict: Annotated[
        Literal["not_worse", "always_right"],
        Meta(
            description="not_worse: the candidate's share of right verdicts on a task may not fall; "
            "always_right: every verdict of the candidate must be right, even where the incumbent's is not."
        ),
    ]


class Reason(Struct, frozen=True):
    """What one rule says, and what follows from it."""

    effect: Effect
    text: str


class ThresholdReview:
    """Promotes if some task with a defect got better and nothing anywhere got worse. Pure.

    It is monotone in the numbers that it reads, but not in the reviews behind them: one more correct finding can
    turn `promote` into `keep_incumbent` (docs/gate.md, "Known counter-examples").
    """

    name = NAME
    metric = METRIC

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    def decide(self, evidence: Evidence) -> Verdict:
        """The verdict, with every reason and not only the deciding one."""
        general = tuple(_general_reasons(evidence))
        ordered = sorted(evidence.pairs, key=lambda pair: (pair.candidate_arm, pair.incumbent_arm))
        pairs = tuple(self._decide_pair(pair, evidence, general) for pair in ordered)
        decisions = {pair.decision for pair in pairs} | ({_decision(general)} if general else set())
        return Verdict(
            decision=_strictest(decisions),
            reasons=_reasons_of_all(general, pairs),
            policy=self.name,
            parameters=msgspec.to_builtins(self._parameters),
            metric=self.metric,
            pairs=pairs,
        )

    def detects(self, tasks: int, repeats: int) -> str:
        """The smallest change that promotes, and what these thresholds do not promise."""
        return (
            f"a rise of {self._parameters.min_improvement:g} weighted F1 on any of {tasks} tasks with a defect, if nothing "
            f"gets worse on any task; measured {repeats} time(s) each. Fixed thresholds hold no error rate (docs/gate.md)"
        )

    def _decide_pair(self, pair: PairEvidence, evidence: Evidence, general: Sequence[Reason]) -> PairVerdict:
        tasks = sorted(pair.tasks, key=lambda task: task.task)
        counted = [task for task in tasks if evidence.split in ("all", task.split)]
        runs = 1 if evidence.deterministic else self._parameters.min_runs
        found = [tuple(_task_reasons(task, runs, self._parameters)) for task in counted]
        reasons = [*general, *(reason for task in found for reason in task)]
        if not counted:
            reasons.append(Reason("insufficient", f"no task of split {evidence.split} was planned"))
        if not {reason.effect for reason in reasons} & {"improvement", "insufficient"}:
            reasons.append(Reason("note", self._nothing_better()))
        return PairVerdict(
            incumbent_arm=pair.incumbent_arm,
            candidate_arm=pair.candidate_arm,
            decision=_decision(reasons),
            reasons=tuple(reason.text for reason in reasons),
            tasks=tuple(_task_verdict(task, found) for task, found in zip(counted, found, strict=True)),
            means=_means(tasks),
        )

    def _nothing_better(self) -> str:
        return f"no task with a defect got better by {self._parameters.min_improvement:g} or more"


class ThresholdReviewFactory:
    """What the entry point `threshold_review` names."""

    options_schema: Mapping[str, Any] = msgspec.json.schema(Parameters)["$defs"]["Parameters"]

    def create(self, options: Mapping[str, Any]) -> Policy:
        """The policy with these options; ConfigError names the first that is missing, unknown or out of range."""
        try:
            return ThresholdReview(msgspec.convert(dict(options), Parameters))
        except msgspec.ValidationError as error:
            raise ConfigError(f"promotion.options of {NAME}: {error}") from error


THRESHOLD_REVIEW = ThresholdReviewFactory()


def _general_reasons(evidence: Evidence) -> Iterator[Reason]:
    """What makes the whole evidence insufficient."""
    if evidence.model is None:
        yield Reason("insufficient", "no model is named: nobody could say what this was measured with")
    if evidence.stopped is not None:
        yield Reason("insufficient", f"the sweep did not complete ({evidence.stopped}): it cannot promote")
    if not evidence.pairs:
        yield Reason("insufficient", "no candidate arm was measured")


def _task_reasons(task: TaskEvidence, runs: int, parameters: Parameters) -> Iterator[Reason]:
    """What the rules say of one task, in their order."""
    for reason in _rules(task, runs, parameters):
        yield Reason(reason.effect, f"task {task.task}: {reason.text}")


def _rules(task: TaskEvidence, runs: int, parameters: Parameters) -> Iterator[Reason]:
    if task.incumbent is None or task.candidate is None:
        missing = [name for name in ("incumbent", "candidate") if getattr(task, name) is None]
        yield Reason("insufficient", f"nothing was measured of the {' and the '.join(missing)}")
        return
    yield from _counts(task.incumbent, task.candidate, runs)
    incumbent, candidate = task.incumbent.aggregate, task.candidate.aggregate
    unknown = tuple(_unknown(incumbent, candidate))
    if unknown:
        yield Reason("insufficient", f"not known: {', '.join(unknown)}")
        return
    yield from _verdicts(incumbent, candidate, parameters)
    yield from _blockers(incumbent, candidate)
    if candidate.clean_control:
        yield from _clean_control(incumbent, candidate)
    else:
        yield from _defect(incumbent, candidate, parameters.min_improvement)


def _counts(incumbent: ArmEvidence, candidate: ArmEvidence, runs: int) -> Iterator[Reason]:
    """Whether there is enough, the same of both, with nothing left out."""
    for name, arm in (("incumbent", incumbent), ("candidate", candidate)):
        total = arm.aggregate
        if total.measured < runs:
            yield Reason("insufficient", f"{total.measured} measured cells of the {name}, {runs} are needed")
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


def _unknown(incumbent: Aggregate, candidate: Aggregate) -> Iterator[str]:
    """The names of the values that the rules need and that were not measured."""
    if incumbent.clean_control is None or incumbent.clean_control != candidate.clean_control:
        yield "whether it is a clean control"
        return
    ranked = "clean_pass" if candidate.clean_control else METRIC
    for name, total in (("incumbent", incumbent), ("candidate", candidate)):
        for value in (ranked, "false_positives"):
            if getattr(total, value) is None:
                yield f"{value} of the {name}"


def _verdicts(incumbent: Aggregate, candidate: Aggregate, parameters: Parameters) -> Iterator[Reason]:
    always = parameters.verdict == "always_right"
    if candidate.verdicts_right is None or (incumbent.verdicts_right is None and not always):
        yield Reason("insufficient", "not known: which verdicts are right")
        return
    now = f"{candidate.verdicts_right} of {candidate.measured}"
    if always and candidate.verdicts_right < candidate.measured:
        yield Reason("regression", f"only {now} verdicts of the candidate are right")
    if always or incumbent.verdicts_right is None:
        return
    if candidate.verdicts_right * incumbent.measured < incumbent.verdicts_right * candidate.measured:
        before = f"{incumbent.verdicts_right} of {incumbent.measured}"
        yield Reason("regression", f"right verdicts {before} → {now}, worse")


def _blockers(incumbent: Aggregate, candidate: Aggregate) -> Iterator[Reason]:
    before, now = incumbent.blocker_recall, candidate.blocker_recall
    if (before is None) != (now is None):
        yield Reason("insufficient", "blocker recall is known of one arm only")
    if before is not None and now is not None and now + EPSILON < before:
        yield Reason("regression", f"blocker recall (worst repeat) {_change(before, now)}, worse")


def _clean_control(incumbent: Aggregate, candidate: Aggregate) -> Iterator[Reason]:
    before, now = _value(incumbent, "false_positives"), _value(candidate, "false_positives")
    if now > before + EPSILON:
        yield Reason("regression", f"false positives on clean code {before:g} → {now:g}, worse")
    if incumbent.clean_pass and not candidate.clean_pass:
        yield Reason("regression", "the incumbent passes this clean control, the candidate does not")


def _defect(incumbent: Aggregate, candidate: Aggregate, least: float) -> Iterator[Reason]:
    before, now = _value(incumbent, METRIC), _value(candidate, METRIC)
    numbers = f"weighted F1 {_change(before, now)}"
    if now + EPSILON < before:
        yield Reason("regression", f"{numbers}, worse")
    elif now + EPSILON >= before + least:
        yield Reason("improvement", f"{numbers}, better")


def _value(total: Aggregate, name: str) -> float:
    """A value that is known here: the rules stop before, where it is not."""
    value = getattr(total, name)
    if value is None:
        raise ValueError(f"{name} is not known")
    return float(value)


def _change(before: float, now: float) -> str:
    """Both numbers, with as many digits as it takes to see the difference."""
    digits = 3 if f"{before:.3f}" != f"{now:.3f}" else 6
    return f"{before:.{digits}f} → {now:.{digits}f}"


def _decision(reasons: Sequence[Reason]) -> Decision:
    """Insufficient beats keep, keep beats promote, and nothing promotes without an improvement."""
    effects = {reason.effect for reason in reasons}
    if "insufficient" in effects:
        return "insufficient_evidence"
    return "promote" if "improvement" in effects and "regression" not in effects else "keep_incumbent"


def _strictest(decisions: set[Decision]) -> Decision:
    if "insufficient_evidence" in decisions:
        return "insufficient_evidence"
    return "keep_incumbent" if "keep_incumbent" in decisions else "promote"


def _reasons_of_all(general: Sequence[Reason], pairs: Sequence[PairVerdict]) -> tuple[str, ...]:
    """The general reasons once, then those of each pair, under the candidate's name if there are several."""
    own = (
        f"{pair.candidate_arm}: {text}" if len(pairs) > 1 else text
        for pair in pairs
        for text in pair.reasons[len(general) :]
    )
    return (*(reason.text for reason in general), *own)


def _task_verdict(task: TaskEvidence, reasons: Sequence[Reason]) -> TaskVerdict:
    before, now = _ranked(task.incumbent), _ranked(task.candidate)
    return TaskVerdict(
        task=task.task,
        task_class=task.task_class,
        split=task.split,
        incumbent=before,
        candidate=now,
        change=None if before is None or now is None else round(now - before, 6) + 0.0,  # no -0.0
        effect=_effect({reason.effect for reason in reasons}),
        reasons=tuple(reason.text for reason in reasons),
    )


def _effect(effects: set[Effect]) -> Literal["better", "same", "worse", "unknown"]:
    """What all the reasons of a task come to; the gravest counts."""
    if "insufficient" in effects:
        return "unknown"
    if "regression" in effects:
        return "worse"
    return "better" if "improvement" in effects else "same"


def _ranked(arm: ArmEvidence | None) -> float | None:
    return arm.aggregate.weighted_f1 if arm else None


def _means(tasks: Sequence[TaskEvidence]) -> dict[str, tuple[float | None, float | None]]:
    """Mean weighted F1 of both arms over the tasks with a defect: of all of them, and by split."""
    defects = [task for task in tasks if not _is_clean(task)]
    splits = {
        split: [task for task in defects if task.split == split] for split in {each.split for each in tasks}
    }
    groups = {"all": defects, **splits}
    return {name: _mean_of_both(groups[name]) for name in sorted(groups)}


def _mean_of_both(tasks: Sequence[TaskEvidence]) -> tuple[float | None, float | None]:
    return (
        known_mean([_ranked(task.incumbent) for task in tasks]),
        known_mean([_ranked(task.candidate) for task in tasks]),
    )


def _is_clean(task: TaskEvidence) -> bool:
    """By its labels where something was measured, else by its class."""
    flags = {arm.aggregate.clean_control for arm in (task.incumbent, task.candidate) if arm}
    return True in flags if flags - {None} else task.task_class == "review-clean"

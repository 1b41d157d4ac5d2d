"""`threshold_review`: fixed thresholds on review quality, the rules of research/gitnexus.md §3.3 in their order."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from bench.results import Aggregate
from evolve.gate.model import ArmEvidence, Evidence, PairEvidence, Policy, TaskEvidence, TaskVerdict, Verdict
from evolve.gate.thresholds import (
    EPSILON,
    PairFindings,
    Reason,
    about,
    counted_tasks,
    decide_pairs,
    effect_of,
    hardly_used,
    is_clean,
    means_by_split,
    missing_arms,
    missing_runs,
    needed_runs,
    no_task,
    options_schema,
    read_options,
)

NAME = "threshold_review"
METRIC = "weighted_f1"


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


class ThresholdReview:
    """Promotes if some task with a defect got better and nothing anywhere got worse. Pure.

    It is monotone in the numbers that it reads, but not in the reviews behind them: one more correct finding can
    turn `promote` into `keep_incumbent` (docs/gate.md, "Known counter-examples").
    """

    name = NAME
    metric = METRIC
    pairs_repeats = False

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    def decide(self, evidence: Evidence) -> Verdict:
        """The verdict, with every reason and not only the deciding one."""
        decided = decide_pairs(evidence, lambda pair: self._judge(pair, evidence))
        return Verdict(
            decision=decided.decision,
            reasons=decided.reasons,
            policy=self.name,
            parameters=msgspec.to_builtins(self._parameters),
            metric=self.metric,
            pairs=decided.pairs,
        )

    def detects(self, tasks: int, repeats: int) -> str:
        """The smallest change that promotes, and what these thresholds do not promise."""
        return (
            f"a rise of {self._parameters.min_improvement:g} weighted F1 on any of {tasks} tasks with a defect, if nothing "
            f"gets worse on any task; measured {repeats} time(s) each. Fixed thresholds hold no error rate (docs/gate.md)"
        )

    def _judge(self, pair: PairEvidence, evidence: Evidence) -> PairFindings:
        tasks = counted_tasks(pair, evidence.split)
        runs = needed_runs(evidence, self._parameters.min_runs)
        found = [about(task, _rules(task, runs, self._parameters)) for task in tasks]
        reasons = [*(reason for task in found for reason in task), *hardly_used(tasks)]
        if not tasks:
            reasons.append(no_task(evidence.split))
        if not {reason.effect for reason in reasons} & {"improvement", "insufficient"}:
            reasons.append(Reason("note", self._nothing_better()))
        return PairFindings(
            reasons=tuple(reasons),
            tasks=tuple(_task_verdict(task, about_it) for task, about_it in zip(tasks, found, strict=True)),
            means=means_by_split(pair.tasks, lambda task: not is_clean(task), _ranked),
        )

    def _nothing_better(self) -> str:
        return f"no task with a defect got better by {self._parameters.min_improvement:g} or more"


class ThresholdReviewFactory:
    """What the entry point `threshold_review` names."""

    options_schema: Mapping[str, Any] = options_schema(Parameters)

    def create(self, options: Mapping[str, Any]) -> Policy:
        """The policy with these options; ConfigError names the first that is missing, unknown or out of range."""
        return ThresholdReview(read_options(NAME, options, Parameters))


THRESHOLD_REVIEW = ThresholdReviewFactory()


def _rules(task: TaskEvidence, runs: int, parameters: Parameters) -> Iterator[Reason]:
    """What the rules say of one task, in their order."""
    if task.incumbent is None or task.candidate is None:
        yield from missing_arms(task)
        return
    yield from missing_runs(task.incumbent, task.candidate, runs)
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


def _task_verdict(task: TaskEvidence, reasons: Sequence[Reason]) -> TaskVerdict:
    before, now = _ranked(task.incumbent), _ranked(task.candidate)
    return TaskVerdict(
        task=task.task,
        task_class=task.task_class,
        split=task.split,
        incumbent=before,
        candidate=now,
        change=None if before is None or now is None else round(now - before, 6) + 0.0,  # no -0.0
        effect=effect_of(reasons),
        reasons=tuple(reason.text for reason in reasons),
    )


def _ranked(arm: ArmEvidence | None) -> float | None:
    return arm.aggregate.weighted_f1 if arm else None

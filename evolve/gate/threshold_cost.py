"""`threshold_cost`: fixed thresholds on what resolved work costs, the rules of research/gitnexus.md §3.2 in their order."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from bench.results import Aggregate, percent_saved
from evolve.gate.model import (
    ArmEvidence,
    Evidence,
    PairEvidence,
    Policy,
    TaskEffect,
    TaskEvidence,
    TaskVerdict,
    Verdict,
)
from evolve.gate.thresholds import (
    EPSILON,
    PairFindings,
    Reason,
    about,
    counted_tasks,
    decide_pairs,
    effect_of,
    hardly_used,
    means_by_split,
    missing_arms,
    missing_runs,
    needed_runs,
    no_task,
    options_schema,
    read_options,
)

NAME = "threshold_cost"
MAIN_LOOP_ONLY = frozenset({"output", "turns"})


class Parameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of `threshold_cost`; none has a default outside conf/promotion. Percents are of the incumbent's."""

    metric: Annotated[
        Literal["output", "cost_usd", "seconds", "turns"],
        Meta(
            description="What is to become less: output tokens, dollars, seconds of the sessions, or turns."
        ),
    ]
    min_runs: Annotated[
        int,
        Meta(
            ge=1,
            description="Measured cells that each arm needs per task; one of a deterministic agent is enough.",
        ),
    ]
    min_improvement_pct: Annotated[
        float, Meta(gt=0, le=100, description="How much less the median task must take, in percent.")
    ]
    max_task_regression_pct: Annotated[
        float, Meta(ge=0, description="How much more any one task may take, in percent.")
    ]
    max_failed_task_regression_pct: Annotated[
        float,
        Meta(
            ge=0, description="The same for a task that neither arm resolves, and that decides nothing else."
        ),
    ]
    min_gated_task_ratio: Annotated[
        float,
        Meta(
            ge=0, le=1, description="The share of tasks that must be resolved by an arm to decide anything."
        ),
    ]
    resolution_margin: Annotated[
        int, Meta(ge=1, description="How many more resolved cells promote without any saving.")
    ]


class Comparison(Struct, frozen=True, kw_only=True):
    """One task with what the rules say of it. `saved` is in percent; a task without both arms is not `paired`."""

    task: TaskEvidence
    paired: bool
    gated: bool
    saved: float | None
    margin: int
    reasons: tuple[Reason, ...]


class ThresholdCost:
    """Promotes if two more cells are resolved or the median task takes less, and quality holds everywhere. Pure.

    It is not monotone: more success of the candidate on a task that both arms failed can turn `promote` into
    `keep_incumbent` (docs/gate.md, "Known counter-examples").
    """

    name = NAME
    pairs_repeats = False

    def __init__(self, parameters: Parameters) -> None:
        self.metric: str = parameters.metric
        self._parameters = parameters

    def decide(self, evidence: Evidence) -> Verdict:
        """The verdict, with every reason and not only the deciding one."""
        decided = decide_pairs(evidence, lambda pair: self._judge(pair, evidence), tuple(_notes(self.metric)))
        return Verdict(
            decision=decided.decision,
            reasons=decided.reasons,
            policy=self.name,
            parameters=msgspec.to_builtins(self._parameters),
            metric=self.metric,
            pairs=decided.pairs,
            change_as="percent",
        )

    def detects(self, tasks: int, repeats: int) -> str:
        """The smallest changes that promote, and what these thresholds do not promise."""
        return (
            f"{self._parameters.min_improvement_pct:g} % less {self.metric} on the median of {tasks} tasks, or "
            f"{self._parameters.resolution_margin} more resolved cells, if no task gets worse than its limit; measured "
            f"{repeats} time(s) each. Fixed thresholds hold no error rate (docs/gate.md)"
        )

    def _judge(self, pair: PairEvidence, evidence: Evidence) -> PairFindings:
        runs = needed_runs(evidence, self._parameters.min_runs)
        tasks = counted_tasks(pair, evidence.split)
        compared = [_compare(task, runs, self._parameters) for task in tasks]
        reasons = [*(reason for each in compared for reason in each.reasons), *hardly_used(tasks)]
        reasons += _coverage(compared, self._parameters) if compared else [no_task(evidence.split)]
        if not any(reason.effect == "insufficient" for reason in reasons):
            reasons += _gains(compared, self._parameters)
        saved = _median_saved(compared)
        return PairFindings(
            reasons=tuple(reasons),
            tasks=tuple(_task_verdict(each, self._parameters) for each in compared),
            means=means_by_split(pair.tasks, lambda _: True, lambda arm: _ranked(arm, self.metric)),
            median_change=None if saved is None else -saved + 0.0,
        )


class ThresholdCostFactory:
    """What the entry point `threshold_cost` names."""

    options_schema: Mapping[str, Any] = options_schema(Parameters)

    def create(self, options: Mapping[str, Any]) -> Policy:
        """The policy with these options; ConfigError names the first that is missing, unknown or out of range."""
        return ThresholdCost(read_options(NAME, options, Parameters))


THRESHOLD_COST = ThresholdCostFactory()


def _notes(metric: str) -> Iterator[str]:
    if metric in MAIN_LOOP_ONLY:
        yield (
            f"note: an agent's own count of {metric} may leave out its subagents, which flatters an arm that starts "
            "more of them; cost_usd and seconds do not have this flaw"
        )


def _compare(task: TaskEvidence, runs: int, parameters: Parameters) -> Comparison:
    """One task by the rules, in their order."""
    if task.incumbent is None or task.candidate is None:
        reasons = about(task, missing_arms(task))
        return Comparison(task=task, paired=False, gated=False, saved=None, margin=0, reasons=reasons)
    before, now = task.incumbent.aggregate, task.candidate.aggregate
    saved = _saved(before, now, parameters.metric)
    missing = tuple(missing_runs(task.incumbent, task.candidate, runs))
    solved = before.resolved or now.resolved
    gated = bool(missing or solved or _skill_attributable(before, now) or saved is None)
    rules = _gated(before, now, saved, parameters) if gated else _ungated(before, now, saved, parameters)
    return Comparison(
        task=task,
        paired=True,
        gated=gated,
        saved=saved,
        margin=now.resolved - before.resolved,
        reasons=about(task, (*missing, *rules)),
    )


def _skill_attributable(incumbent: Aggregate, candidate: Aggregate) -> bool:
    """Whether a failure may be the skill's own doing: it was not even used. Such a task never drops out."""
    return incumbent.skill_not_invoked + candidate.skill_not_invoked > 0


def _saved(incumbent: Aggregate, candidate: Aggregate, metric: str) -> float | None:
    """Percent saved. A candidate's zero is no saving either: work that took nothing was not measured."""
    now = getattr(candidate, metric)
    return percent_saved(getattr(incumbent, metric), now) if now else None


def _ungated(
    incumbent: Aggregate, candidate: Aggregate, saved: float | None, parameters: Parameters
) -> Iterator[Reason]:
    """The one rule for a task that neither arm resolves: trying in vain may not cost without limit."""
    yield from _regression(
        incumbent, candidate, saved, parameters.metric, parameters.max_failed_task_regression_pct
    )


def _gated(
    incumbent: Aggregate, candidate: Aggregate, saved: float | None, parameters: Parameters
) -> Iterator[Reason]:
    yield from _quality(incumbent, candidate)
    unusable = tuple(_without_signal(incumbent, candidate, parameters.metric))
    if unusable:
        yield Reason("insufficient", ", ".join(unusable))
    elif saved is None:
        yield Reason("insufficient", f"{parameters.metric} of the two arms cannot be compared")
    yield from _regression(incumbent, candidate, saved, parameters.metric, parameters.max_task_regression_pct)


def _quality(incumbent: Aggregate, candidate: Aggregate) -> Iterator[Reason]:
    """The resolve rate, and the floor: what the incumbent can do at all, the candidate does every time."""
    before, now = _resolved_of(incumbent), _resolved_of(candidate)
    if candidate.resolved * incumbent.measured < incumbent.resolved * candidate.measured:
        yield Reason("regression", f"resolved cells {before} → {now}, worse")
    if candidate.resolved == candidate.measured:
        return
    if incumbent.resolved:
        yield Reason(
            "regression", f"the candidate resolves {now} cells of a task that the incumbent can resolve"
        )
    elif _skill_attributable(incumbent, candidate):
        yield Reason("regression", f"the candidate resolves {now} cells of a task where a skill was not used")


def _without_signal(incumbent: Aggregate, candidate: Aggregate, metric: str) -> Iterator[str]:
    """Which numbers nothing can be concluded from, and why."""
    for name, total in (("incumbent", incumbent), ("candidate", candidate)):
        value = getattr(total, metric)
        if value is None:
            yield f"not known: {metric} of the {name}"
        elif value <= 0:
            yield f"{metric} of the {name} is zero: rank on a metric with signal (promotion.options.metric)"


def _regression(
    incumbent: Aggregate, candidate: Aggregate, saved: float | None, metric: str, most: float
) -> Iterator[Reason]:
    if saved is not None and saved + EPSILON < -most:
        change = f"{_amount(getattr(incumbent, metric))} → {_amount(getattr(candidate, metric))} ({_signed(-saved)} %)"
        yield Reason("regression", f"{metric} {change}, more than {most:g} % worse")


def _coverage(compared: Sequence[Comparison], parameters: Parameters) -> Iterator[Reason]:
    """Whether enough tasks decide; those that do not are named in one line."""
    paired = [each for each in compared if each.paired]
    gated = [each for each in paired if each.gated]
    ungated = [each.task.task for each in paired if not each.gated]
    if ungated:
        counts = f"{len(ungated)} of {len(paired)} ({', '.join(ungated)})"
        yield Reason("note", f"tasks that decide nothing, because neither arm resolves them: {counts}")
    if not gated:
        yield Reason("insufficient", "no task decides anything")
    elif len(gated) + EPSILON < parameters.min_gated_task_ratio * len(paired):
        needed = f"{100 * parameters.min_gated_task_ratio:g} %"
        yield Reason("insufficient", f"tasks that decide: {len(gated)} of {len(paired)}, needed: {needed}")


def _gains(compared: Sequence[Comparison], parameters: Parameters) -> Iterator[Reason]:
    """What may promote: clearly more resolved cells; else the median saving."""
    margin, needed = sum(each.margin for each in compared), parameters.resolution_margin
    resolved = f"resolved cells over all tasks: {margin:+d}"
    if margin >= needed:
        yield Reason("improvement", f"{resolved}, better")
    elif margin > 0:
        yield Reason("note", f"{resolved}, within the noise: {needed:+d} is needed")
    saved = _median_saved(compared)
    if saved is None:
        return
    decide = sum(each.gated for each in compared)
    numbers = f"median change of {parameters.metric} (tasks: {decide}): {_signed(-saved)} %"
    if saved + EPSILON >= parameters.min_improvement_pct:
        yield Reason("improvement", f"{numbers}, better")
    else:
        yield Reason("note", f"{numbers}, no saving of {parameters.min_improvement_pct:g} % or more")


def _median_saved(compared: Sequence[Comparison]) -> float | None:
    """The median saving of the tasks that decide; None if one of them is unknown."""
    saved = [each.saved for each in compared if each.gated]
    known = [percent for percent in saved if percent is not None]
    return round(median(known), 2) if known and len(known) == len(saved) else None


def _task_verdict(compared: Comparison, parameters: Parameters) -> TaskVerdict:
    task, saved = compared.task, compared.saved
    return TaskVerdict(
        task=task.task,
        task_class=task.task_class,
        split=task.split,
        incumbent=_ranked(task.incumbent, parameters.metric),
        candidate=_ranked(task.candidate, parameters.metric),
        change=None if saved is None else -saved + 0.0,  # no -0.0
        effect=_effect(compared, parameters),
        reasons=tuple(reason.text for reason in compared.reasons),
        incumbent_resolved=_resolved(task.incumbent),
        candidate_resolved=_resolved(task.candidate),
        ungated="neither arm resolves it" if compared.paired and not compared.gated else None,
    )


def _effect(compared: Comparison, parameters: Parameters) -> TaskEffect:
    """As the rules say; where they say nothing, whether the task got better, which alone promotes nothing."""
    saved = compared.saved or 0.0
    gained = compared.margin > 0 or saved + EPSILON >= parameters.min_improvement_pct
    effect = effect_of(compared.reasons)
    return "better" if effect == "same" and compared.gated and gained else effect


def _ranked(arm: ArmEvidence | None, metric: str) -> float | None:
    value: float | None = getattr(arm.aggregate, metric) if arm else None
    return value


def _resolved(arm: ArmEvidence | None) -> tuple[int, int] | None:
    return (arm.aggregate.resolved, arm.aggregate.measured) if arm else None


def _resolved_of(total: Aggregate) -> str:
    return f"{total.resolved} of {total.measured}"


def _amount(value: float) -> str:
    return f"{round(value, 6):.12g}"


def _signed(percent: float) -> str:
    return f"{percent + 0.0:+.12g}"

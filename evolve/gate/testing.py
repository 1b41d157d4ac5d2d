"""A policy that tests: from evidence to a verdict, whatever the test is."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import UNSET, structs

from evolve.gate.design import Design, Reachability, reachability, reachability_words
from evolve.gate.endpoints import row_mean
from evolve.gate.judging import (
    Answer,
    Question,
    answer,
    ask,
    counted,
    fresh_is_complete,
    has_reused,
    only_fresh,
    ranked_tasks,
    thin_tasks,
    uneven_tasks,
    unknown_cells,
)
from evolve.gate.looks import Stand, as_if_fresh, promoted
from evolve.gate.model import (
    Evidence,
    PairEvidence,
    Policy,
    Statistics,
    TaskEffect,
    TaskEvidence,
    TaskVerdict,
    Verdict,
)
from evolve.gate.parameters import TestingParameters
from evolve.gate.primary import Test
from evolve.gate.samples import TaskSample, mean_units, reused_cells
from evolve.gate.thresholds import (
    PairFindings,
    Reason,
    decide_pairs,
    hardly_used,
    means_by_split,
    no_task,
)
from evolve.gate.wording import cells_words, finding_words, power_words, statistics_of


class TestingPolicy:
    """Judges every pair of arms by one test and the same guards. Pure."""

    __test__ = False

    name = ""
    pairs_repeats = True

    def __init__(self, parameters: TestingParameters, test: Test, *, betting: bool) -> None:
        self.metric: str = parameters.endpoint
        self.parameters = parameters
        self._test = test
        self._betting = betting

    @property
    def spends(self) -> bool:
        """Whether a verdict is a release test, which is charged to a campaign."""
        return self.parameters.tier == "release"

    def decide(self, evidence: Evidence) -> Verdict:
        """The verdict, with every reason and not only the deciding one."""
        decided = decide_pairs(evidence, lambda pair: self._judge(pair, evidence))
        return Verdict(
            decision=decided.decision,
            reasons=decided.reasons,
            policy=self.name,
            parameters=msgspec.to_builtins(self.parameters),
            metric=self.metric,
            pairs=decided.pairs,
            change_as="difference",
        )

    def detects(self, tasks: int, repeats: int) -> str:
        """What this design can reach, for the first release test."""
        return self.told(self.reaches(Design(tasks=tasks, repeats=repeats)))

    def reaches(self, design: Design) -> Reachability:
        """What a design can show at all, before anything is paid."""
        looks = () if design.deterministic else self.looks_after(design.repeats)
        return reachability(self.parameters, structs.replace(design, schedule=looks), betting=self._betting)

    def told(self, found: Reachability) -> str:
        """That, for people."""
        return reachability_words(found)

    def looks_after(self, repeats: int) -> tuple[int, ...]:
        """The numbers of repeats after which a sweep of so many is looked at, the last one all of them."""
        parts = self.parameters.looks
        return tuple(sorted({-(-repeats * part // parts) for part in range(1, parts + 1)}))

    def stands(self, evidence: Evidence) -> Mapping[str, Stand]:
        """How each candidate arm stands at a look."""
        shown = promoted(self.decide(evidence))
        surviving = promoted(self.decide(as_if_fresh(evidence)))
        return {
            pair.candidate_arm: "shown"
            if pair.candidate_arm in shown
            else "survives"
            if pair.candidate_arm in surviving
            else self._unshown(pair, evidence)
            for pair in evidence.pairs
        }

    def ends(self, found: Answer) -> bool:  # noqa: ARG002
        """Whether a look before the last one finds that going on is useless."""
        return False

    def notes(self, found: Answer) -> Iterator[Reason]:  # noqa: ARG002
        """What else there is to say; decides nothing."""
        yield from ()

    def _judge(self, pair: PairEvidence, evidence: Evidence) -> PairFindings:
        question = ask(pair, evidence, self.parameters)
        if not question.samples:
            return PairFindings(reasons=(no_task(evidence.split),), tasks=(), means={})
        least = 1 if evidence.deterministic else self.parameters.min_runs
        found, reused = self._answered(question, least)
        if evidence.deterministic and self.parameters.tier == "search":
            reused = ()  # such an agent would leave the same row again; its canaries see to that
        numbers = statistics_of(found, self.parameters, betting=self._betting)
        planned = counted(pair, evidence.split)
        told = pair.tasks if found.question is question else tuple(map(_fresh_rows, pair.tasks))
        reasons = [
            *self._campaign(evidence),
            *(() if self.ends(found) else _thin(question, least)),
            *_blind(question, self.parameters, calls_model=evidence.calls_model),
            *hardly_used(planned),
            *self._says(found, numbers, reused),
        ]
        tasks = ranked_tasks(counted(structs.replace(pair, tasks=told), evidence.split), question.endpoint)
        return PairFindings(
            reasons=tuple(reasons),
            tasks=tuple(_table(tasks, found.question, self.metric)),
            means=means_by_split(
                ranked_tasks(told, question.endpoint),
                lambda _: True,
                lambda arm: row_mean(arm, self.metric),
            ),
            statistics=numbers,
        )

    def _unshown(self, pair: PairEvidence, evidence: Evidence) -> Stand:
        question = ask(pair, evidence, self.parameters)
        return "futile" if question.samples and self.ends(answer(question, self._test)) else "open"

    def _answered(self, question: Question, least: int) -> tuple[Answer, tuple[str, ...]]:
        """The answer of the fresh pairs, if they are complete; else of all, and which pairs were not fresh."""
        if has_reused(question) and fresh_is_complete(question, least):
            return answer(only_fresh(question), self._test), ()
        return answer(question, self._test), reused_cells(question.samples)

    def _campaign(self, evidence: Evidence) -> Iterator[Reason]:
        if self.parameters.tier == "release" and evidence.campaign is UNSET:
            yield Reason(
                "insufficient",
                "a release test spends from a campaign's error budget, and no campaign is named "
                "(campaign=NAME, or promotion.options.tier=search, which releases nothing)",
            )

    def _says(self, found: Answer, numbers: Statistics, reused: Sequence[str]) -> Iterator[Reason]:
        shown = found.worst.finding.promote
        yield from _unknown(found)
        uneven = uneven_tasks(found.question)
        if found.worst.promotes and uneven:
            yield Reason(
                "insufficient",
                f"the two arms do not cover the same; top up before it can promote: {cells_words(uneven)}",
            )
        yield from (Reason("regression", text) for text in found.worst.broken if text in found.best.broken)
        if shown and reused:
            yield Reason(
                "insufficient",
                f"reused rows may reject, only rows of this sweep may promote; measure afresh (reuse=none): {cells_words(reused)}",
            )
        yield Reason("improvement" if shown else "note", finding_words(numbers, shown=shown))
        if not shown:
            yield Reason("note", power_words(numbers))
        yield from self.notes(found)


def _blind(question: Question, parameters: TestingParameters, *, calls_model: bool) -> Iterator[Reason]:
    """The guard that is on, and that no row of either arm has a number for: an agent that calls no model costs
    nothing; of one that calls a model, nobody could say that it did not become dearer.
    """
    if not parameters.guards.cost_usd or any(guard.name == "cost_usd" for guard in question.guards):
        return
    if calls_model:
        yield Reason(
            "insufficient",
            "guard cost_usd: no row of either arm knows its price; give the model one (docs/spend.md), "
            "or switch the guard off: promotion.options.guards.cost_usd=null",
        )
    else:
        yield Reason("note", "guard cost_usd guards nothing: this agent calls no model")


def _thin(question: Question, least: int) -> Iterator[Reason]:
    thin = tuple(thin_tasks(question, least))
    if thin:
        yield Reason(
            "insufficient",
            f"tasks with fewer than {least} pairs, of an agent that is not deterministic: {cells_words(thin)}",
        )


def _unknown(found: Answer) -> Iterator[Reason]:
    """Cells without a number: fatal if the decision hangs on them, else how little it does."""
    cells = unknown_cells(found.question)
    if not cells:
        return
    bounds = f"value of the test {float(found.worst.finding.value):.3g} at their worst, {float(found.best.finding.value):.3g} at their best"
    if found.worst.promotes != found.best.promotes:
        yield Reason(
            "insufficient",
            f"the decision hangs on {len(cells)} cells that are not known ({bounds}); top up: {cells_words(cells)}",
        )
    else:
        yield Reason(
            "note", f"{len(cells)} cells are not known; the decision is the same at both bounds ({bounds})"
        )


def _fresh_rows(task: TaskEvidence) -> TaskEvidence:
    """The task by the rows of this sweep: what a promotion reports of a gain, no earlier row may have raised."""
    arms = {
        role: None if arm is None else structs.replace(arm, rows=tuple(row for row in arm.rows if row.fresh))
        for role, arm in (("incumbent", task.incumbent), ("candidate", task.candidate))
    }
    return structs.replace(task, **arms)


def _table(tasks: Sequence[TaskEvidence], question: Question, metric: str) -> Iterator[TaskVerdict]:
    samples = {each.task: each for each in question.samples}
    for task in tasks:
        before, now = row_mean(task.incumbent, metric), row_mean(task.candidate, metric)
        yield TaskVerdict(
            task=task.task,
            task_class=task.task_class,
            split=task.split,
            incumbent=before,
            candidate=now,
            change=None if before is None or now is None else round(now - before, 6) + 0.0,
            effect=_effect(samples[task.task]),
            reasons=(),
        )


def _effect(sample: TaskSample) -> TaskEffect:
    """Which way a task's known pairs point; it is no test."""
    values = [pair.worst for pair in sample.pairs if not pair.cells]
    if not values:
        return "unknown"
    mean = mean_units(values) or sum(values)
    return "better" if mean > 0 else "worse" if mean < 0 else "same"


def only_searches(verdict: Verdict) -> bool:
    """Whether a verdict moves the champion and releases nothing."""
    return verdict.policy in ("exact", "anytime") and verdict.parameters.get("tier") == "search"


def tests_release(verdict: Verdict) -> bool:
    """Whether a verdict is that of a release test."""
    return verdict.policy in ("exact", "anytime") and verdict.parameters.get("tier") == "release"


def spends(policy: Policy) -> bool:
    """Whether a policy's verdicts are charged to a campaign; those of other families never are."""
    return isinstance(policy, TestingPolicy) and policy.spends


def counts_clean(policy: TestingPolicy) -> bool:
    """Whether a clean control is a task of the comparison: it has no F1, but outcomes and costs."""
    return policy.metric != "weighted_f1"

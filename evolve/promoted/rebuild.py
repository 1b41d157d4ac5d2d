"""A promotion made once more from configuration, plan, overlay and rows, as if its file were not there. Pure."""

from typing import cast

from msgspec import structs

from bench.arms import CellKey
from bench.config import Config, config_digest
from bench.errors import ConfigError
from bench.results import StopCause, exit_code, health
from bench.skills import required_arms
from evolve.gate import (
    Evidence,
    Promotion,
    PromotionMetadata,
    TaskFacts,
    collect_evidence,
    digest_rows,
    load_policy,
    promotion_document,
    with_drift,
)
from evolve.looking import evidence_looks
from evolve.promoted.files import PromotedGeneration


def rebuild(config: Config, run: str, generation: PromotedGeneration) -> Promotion:
    """What promotion.json of this generation must say. Only the time of the verdict and why an incomplete
    sweep was stopped are taken from the file itself: nothing else knows them.

    ValueError and UserError say why no promotion follows from what is there.
    """
    if config.promotion is None:
        raise ConfigError("config.json has no promotion: nothing was decided by it")
    evidence = _evidence(config, config.promotion.split, generation)
    verdict = load_policy(config.promotion).decide(evidence)
    return promotion_document(evidence, verdict, _metadata(config, run, generation, evidence.stopped))


def _metadata(
    config: Config, run: str, generation: PromotedGeneration, stopped: str | None
) -> PromotionMetadata:
    plan, proposed = generation.plan, generation.proposed
    roles = {name: config.arms[name].role for name in plan.arms}
    return PromotionMetadata(
        generated_at=generation.promotion.metadata.generated_at,
        run=run,
        generation=generation.number,
        idea=proposed.idea,
        idea_digest=proposed.idea_digest,
        suite=plan.declared.suite,
        suite_digest=plan.suite,
        overlay=generation.overlay.digest,
        base_skills=proposed.base_skills,
        result_skills=proposed.result_skills,
        agent=plan.declared.agent,
        contained=plan.declared.contained,
        configuration=config_digest(config),
        rows=digest_rows(generation.rows),
        exit_code=int(exit_code(health(generation.rows, roles), cast("StopCause | None", stopped))),
    )


def _evidence(config: Config, split: str, generation: PromotedGeneration) -> Evidence:
    declared = generation.plan.declared
    arms = {name: config.arms[name] for name in required_arms(config.arms, generation.overlay.touched)}
    evidence = collect_evidence(
        generation.rows,
        tasks=_facts(generation),
        pairs=[(str(arm.candidate_of), name) for name, arm in arms.items() if arm.role == "candidate"],
        model=declared.model,
        deterministic=declared.deterministic,
        stopped=_stopped(generation),
        split=split,
    )
    stated = generation.promotion.evidence
    told = structs.replace(
        evidence,
        # true is the stricter word, and the one of promotions from before there was any
        calls_model=stated.calls_model or declared.model != declared.agent,
        looks=evidence_looks(generation.plan),
        campaign=generation.campaign,
    )
    return with_drift(told, generation.drift)


def without_row(generation: PromotedGeneration) -> frozenset[CellKey]:
    """The cells of its plan that have no row, although no look spared them."""
    rows = {row.key for row in generation.rows}
    return frozenset(cell.key for cell in generation.plan.cells) - rows - generation.spared


def _facts(generation: PromotedGeneration) -> list[TaskFacts]:
    """Of every planned task: class and split as its rows say them; as the file says them where there is no row."""
    stated = generation.promotion.evidence.pairs
    known = {task.task: (task.task_class, task.split) for pair in stated for task in pair.tasks}
    known |= {row.identity.task: (row.identity.task_class, row.identity.split) for row in generation.rows}
    critical = generation.plan.declared.critical
    return [
        (task, *known.get(task, ("unknown", "unknown")), task in critical) for task in generation.plan.tasks
    ]


def _stopped(generation: PromotedGeneration) -> str | None:
    """Why the sweep was stopped; a sweep of which every cell has a row that was not stopped needs no reason."""
    stated = generation.promotion.evidence.stopped
    broken = [row.outcome.kind for row in generation.rows if row.outcome.status == "stopped"]
    whole = not without_row(generation)
    if stated is None and (broken or not whole):
        return str(broken[0]) if broken else "cancelled"
    return stated

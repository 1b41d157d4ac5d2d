"""One generation: a proposal, a plan, a sweep, a verdict."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from msgspec import UNSET, Struct, structs

from bench.cancellation import Cancellation
from bench.digest import digest_json
from bench.exits import ExitCode
from bench.project import RunFolder
from bench.results import ReportVerdict, exit_code, health, render_report
from bench.skills import (
    Overlay,
    Skill,
    apply_overlay,
    check_against,
    freeze_overlay,
    make_overlay,
    required_arms,
)
from bench.sweep import Ground, Plan, SweepResult, make_arms, measure_plan, seal_plan, sweep_report
from bench.watch import GenerationStarted, VerdictReached, Watcher
from evolve.campaign import Campaign
from evolve.campaign_chain import Subject
from evolve.gate import (
    Evidence,
    Policy,
    PromotionMetadata,
    Verdict,
    collect_evidence,
    digest_rows,
    promotion_document,
    write_promotion,
)
from evolve.propose import Proposal
from evolve.words import SENTENCES


class Generation(Struct, frozen=True, kw_only=True):
    """What one generation came to. `base` are the incumbents' skills, `skills` the candidate's; `code` is what the command would exit with."""

    number: int
    cells: int
    folder: Path
    proposal: Proposal
    overlay: Overlay
    base: Mapping[str, Skill]
    skills: Mapping[str, Skill]
    evidence: Evidence
    verdict: Verdict
    code: ExitCode


class Conditions(Struct, frozen=True, kw_only=True):
    """What a generation is run under; the same for all generations of a run but for the incumbents. `campaign` is
    given where the policy spends from one.
    """

    ground: Ground
    policy: Policy
    run: RunFolder
    watcher: Watcher
    cancellation: Cancellation
    campaign: Campaign | None = None


def run_generation(
    conditions: Conditions, number: int, proposal: Proposal, incumbents: Mapping[str, Skill], spent: int
) -> Generation:
    """Measure one proposal against the incumbents and decide; `spent` cells of the run were measured before.
    OverlayError and BudgetExhausted refuse it before anything is paid, CampaignError if its budget cannot be told.
    """
    ground, folder = conditions.ground, conditions.run.generation(number)
    overlay = _freeze(proposal, folder, ground, incumbents)
    candidates = apply_overlay(incumbents, overlay)
    selected = required_arms(ground.config.arms, overlay.touched)
    plan = seal_plan(ground, selected, number, overlay.digest, spent)
    conditions.watcher.see(GenerationStarted(generation=number, idea=proposal.idea, overlay=overlay.digest))
    subject = _subject(conditions, number, overlay.digest)
    state = conditions.campaign.reserve(subject, folder) if conditions.campaign else UNSET
    arms = make_arms(ground, selected, incumbents, candidates, overlay.digest)
    result = measure_plan(
        ground, plan, arms, conditions.run, folder, conditions.watcher, conditions.cancellation
    )
    evidence = structs.replace(_evidence(ground, plan, result), campaign=state)
    generation = Generation(
        number=number,
        cells=len(plan.cells),
        folder=folder,
        proposal=proposal,
        overlay=overlay,
        base=dict(incumbents),
        skills=candidates,
        evidence=evidence,
        verdict=conditions.policy.decide(evidence),
        code=exit_code(health(result.rows, ground.roles(selected)), result.stopped),
    )
    _write_promotion(conditions, generation, result)
    if conditions.campaign:
        conditions.campaign.decide(subject, generation.verdict.decision, evidence)
    _write_report(conditions, generation, plan, result)
    return generation


def _subject(conditions: Conditions, number: int, overlay: str) -> Subject:
    return Subject(
        run=conditions.run.id,
        generation=number,
        overlay=overlay,
        suite=conditions.ground.suite.digest,
        policy=conditions.policy.name,
    )


def _freeze(proposal: Proposal, folder: Path, ground: Ground, incumbents: Mapping[str, Skill]) -> Overlay:
    """The proposal as read-only bytes on disk, read back and checked against the incumbents."""
    (folder / "proposal.md").write_text(proposal.text, "utf-8")
    overlay = make_overlay(proposal.files, ground.config.skills)
    check_against(overlay, incumbents)
    freeze_overlay(overlay, folder / "overlay")
    return overlay


def _evidence(ground: Ground, plan: Plan, result: SweepResult) -> Evidence:
    arms = ground.config.arms
    return collect_evidence(
        result.rows,
        tasks=[
            (task.id, task.class_, task.split, task.critical)
            for task in ground.tasks
            if task.id in plan.tasks
        ],
        pairs=[(str(arms[name].candidate_of), name) for name in plan.arms if arms[name].role == "candidate"],
        model=ground.measured_model,
        deterministic=ground.agent.deterministic,
        stopped=result.stopped,
        split=ground.config.promotion.split if ground.config.promotion else "all",
    )


def _write_promotion(conditions: Conditions, generation: Generation, result: SweepResult) -> None:
    """promotion.json, from which the decision can be reached again."""
    ground = conditions.ground
    metadata = PromotionMetadata(
        generated_at=datetime.now(UTC),
        run=conditions.run.id,
        generation=generation.number,
        idea=generation.proposal.idea,
        idea_digest=generation.proposal.idea_digest,
        suite=ground.suite.name,
        suite_digest=ground.suite.digest,
        overlay=generation.overlay.digest,
        base_skills=_digests(generation.base),
        result_skills=_digests(generation.skills),
        agent=ground.agent_name,
        contained=ground.sandbox.contains,
        configuration=digest_json(ground.config),
        rows=digest_rows(result.rows),
        exit_code=int(generation.code),
    )
    document = promotion_document(generation.evidence, generation.verdict, metadata)
    write_promotion(generation.folder / "promotion.json", document)


def _digests(skills: Mapping[str, Skill]) -> dict[str, str]:
    return {name: skill.digest for name, skill in sorted(skills.items())}


def _write_report(conditions: Conditions, generation: Generation, plan: Plan, result: SweepResult) -> None:
    """report.md, which people read; the verdict is announced once it is there."""
    verdict = generation.verdict
    said = ReportVerdict(SENTENCES[verdict.decision], verdict.reasons)
    path = generation.folder / "report.md"
    path.write_text(render_report(sweep_report(conditions.ground, plan, result, said)), "utf-8")
    conditions.watcher.see(
        VerdictReached(
            generation=generation.number, decision=verdict.decision, reasons=verdict.reasons, report=str(path)
        )
    )

"""One generation: a proposal, a plan, a sweep, a verdict."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import UNSET, Struct, UnsetType, structs

from bench.cancellation import Cancellation
from bench.digest import digest_json
from bench.disk import write_whole
from bench.errors import RunError
from bench.exits import ExitCode
from bench.project import RunFolder
from bench.results import ReportVerdict, Row, exit_code, health, read_rows, render_report
from bench.skills import (
    Overlay,
    Skill,
    make_overlay,
)
from bench.sweep import (
    Ground,
    Plan,
    Sealed,
    SweepResult,
    extent,
    measure_plan,
    read_drift,
    read_sealed,
    refuse_changed,
    refuse_unaffordable,
    refuse_unfinishable,
    seal_plan,
    sweep_on,
    sweep_report,
    with_concurrent,
    with_reuse,
)
from bench.watch import GenerationStarted, Noted, VerdictReached, Watcher
from evolve.attempt import Attempt, Reigning, freeze_proposal, make_attempt, skill_digests
from evolve.begun import REPORT, Begun
from evolve.campaign import Campaign
from evolve.campaign_chain import Subject
from evolve.desk import Errands
from evolve.gate import (
    CampaignState,
    Evidence,
    Policy,
    Promotion,
    PromotionMetadata,
    TestingPolicy,
    Verdict,
    collect_evidence,
    digest_rows,
    foreign_faults,
    promotion_document,
    unpaired_faults,
    with_drift,
    write_promotion,
)
from evolve.lock import Parts, lock_of, observe, of_proposer, seal_generation
from evolve.looking import evidence_looks, look_rule, missing_cells, planned_looks
from evolve.promoted import expected_rows
from evolve.propose import Proposal
from evolve.words import SENTENCES, topup_advice


class Generation(Struct, frozen=True, kw_only=True):
    """What one generation came to. `missing` of its cells failed or were stopped: a topup measures them. `paid` of its cells were measured, for the `reused` ones earlier rows stand; `base`
    are the incumbents' skills, `skills` the candidate's; `champion` is its overlay with all those that the incumbents
    hold; `code` is what the command would exit with.
    """

    number: int
    paid: int
    reused: int
    missing: int
    drift: str | None
    folder: Path
    proposal: Proposal
    overlay: Overlay
    champion: Overlay
    base: Mapping[str, Skill]
    skills: Mapping[str, Skill]
    evidence: Evidence
    verdict: Verdict
    code: ExitCode


class Conditions(Struct, frozen=True, kw_only=True):
    """What a generation is run under; the same for all generations of a run but for the incumbents. `resumed` says
    that an earlier process began the run, `ended` that it also ended it, and `again` is the generation of which what
    failed is measured again. `campaign` is given where the policy spends from one, `errands` where proposing is paid.
    """

    ground: Ground
    policy: Policy
    run: RunFolder
    watcher: Watcher
    cancellation: Cancellation
    resumed: bool = False
    ended: bool = False
    again: int | None = None
    campaign: Campaign | None = None
    errands: Errands | None = None


def run_generation(conditions: Conditions, number: int, proposal: Proposal, reigning: Reigning) -> Generation:
    """Measure one proposal against the incumbents and decide. OverlayError and BudgetExhausted refuse it before
    anything is paid, CampaignError if its error budget cannot be told.
    """
    ground, folder = conditions.ground, conditions.run.generation(number)
    overlay = freeze_proposal(proposal, folder, ground, reigning.incumbents)
    attempt = make_attempt(conditions.ground, proposal, overlay, reigning)
    looks = planned_looks(conditions.policy, ground.config.repeats)
    drafted = seal_plan(ground, attempt.selected, number, overlay.digest, attempt.proposed, looks)
    sealed = with_reuse(ground, drafted, attempt.arms, conditions.cancellation)
    if isinstance(conditions.policy, TestingPolicy):
        sealed = with_concurrent(sealed, {arm for pair in _pairs(conditions, drafted) for arm in pair})
    sealed = _ruled(conditions, sealed, attempt)
    refuse_unaffordable(ground, sealed.plan.paid, conditions.run)
    _seal(conditions, folder, sealed.plan, reigning)
    _reserve(conditions, number, overlay, folder)
    _announce(conditions, number, attempt, sealed.notes)
    sweep = (conditions.run, folder, conditions.watcher, conditions.cancellation)
    return _decide(
        conditions, sealed.plan, folder, attempt, measure_plan(ground, sealed, attempt.arms, *sweep)
    )


def resume_generation(
    conditions: Conditions, begun: Begun, reigning: Reigning, *, again: bool = False
) -> Generation:
    """Go on with a generation that an earlier process began, and decide. One that was decided on a whole sweep is
    read back, unless what failed in it is to be measured `again`. RunError if it depends on what was changed: also
    if the next one would. CampaignError if it is a release test that was decided.
    """
    ground, plan = conditions.ground, begun.plan
    folder = conditions.run.generation(plan.generation)
    lock_of(conditions.run, plan.generation)  # a lock that cannot be believed is told before anything is paid
    overlay = make_overlay(begun.proposal.files, ground.config.skills)
    attempt = make_attempt(conditions.ground, begun.proposal, overlay, reigning)
    if begun.judged is not None and conditions.ended:
        return _read_back(begun.judged, plan, folder, attempt)
    if attempt.proposed != plan.proposed:
        raise RunError(
            f"{folder} cannot go on: the skills that it changes are no longer as they were\n"
            "  put them back, or start a new run: rows that still hold are reused"
        )
    refuse_changed(ground, plan, attempt.arms, folder)
    if begun.judged is not None and not again:
        result = SweepResult(read_rows(folder / "results.jsonl")[0], None, drift=read_drift(folder))
        return _decide(conditions, plan, folder, attempt, result, judged=True)
    refuse_unfinishable(ground, plan, folder, conditions.run)
    _reserve(conditions, plan.generation, overlay, folder)
    # it would not be the decision on what is measured now
    (folder / "promotion.json").unlink(missing_ok=True)
    _announce(conditions, plan.generation, attempt)
    sweep = (conditions.run, folder, conditions.watcher, conditions.cancellation)
    sealed = _ruled(conditions, read_sealed(folder, plan), attempt)
    return _decide(conditions, plan, folder, attempt, sweep_on(ground, sealed, attempt.arms, *sweep))


def may_be_topped_up(generation: Generation) -> bool:
    """Whether a sweep that came to its end lacks evidence for cells that can be measured again."""
    return (
        generation.code is ExitCode.VERDICT
        and generation.verdict.decision == "insufficient_evidence"
        and generation.missing > 0
    )


def _read_back(promotion: Promotion, plan: Plan, folder: Path, attempt: Attempt) -> Generation:
    """A generation of a run that ended, as it was decided: what the project holds now changes nothing in it."""
    came = extent(folder, plan)
    return Generation(
        number=plan.generation,
        paid=came.paid,
        reused=came.reused,
        missing=len(missing_cells(plan, read_rows(folder / "results.jsonl")[0], came.spared)),
        drift=promotion.evidence.drift,
        folder=folder,
        proposal=attempt.proposal,
        overlay=attempt.overlay,
        champion=attempt.champion,
        base=attempt.base,
        skills=attempt.skills,
        evidence=promotion.evidence,
        verdict=promotion.verdict,
        code=ExitCode(promotion.metadata.exit_code),
    )


def _announce(conditions: Conditions, number: int, attempt: Attempt, notes: Sequence[str] = ()) -> None:
    conditions.watcher.see(
        GenerationStarted(generation=number, idea=attempt.proposal.idea, overlay=attempt.overlay.digest)
    )
    for note in notes:
        conditions.watcher.see(Noted(message=note))


def _decide(
    conditions: Conditions,
    plan: Plan,
    folder: Path,
    attempt: Attempt,
    result: SweepResult,
    *,
    judged: bool = False,
) -> Generation:
    """The decision on a sweep, written down unless that was done before."""
    came = extent(folder, plan)
    subject = _subject(conditions, plan.generation, attempt.overlay)
    evidence = structs.replace(_evidence(conditions, plan, result), campaign=_place(conditions, subject))
    generation = Generation(
        number=plan.generation,
        paid=came.paid,
        reused=came.reused,
        missing=len(missing_cells(plan, result.rows, came.spared)),
        drift=result.drift,
        folder=folder,
        proposal=attempt.proposal,
        overlay=attempt.overlay,
        champion=attempt.champion,
        base=attempt.base,
        skills=attempt.skills,
        evidence=evidence,
        verdict=conditions.policy.decide(evidence),
        code=exit_code(health(result.rows, conditions.ground.roles(plan.arms)), result.stopped),
    )
    if not judged:
        _write_promotion(conditions, generation, result)
    if conditions.campaign:
        conditions.campaign.decide(subject, generation.verdict.decision, evidence)
    if not judged:
        observe(conditions.run, folder, result.rows, generation.verdict)
        _write_report(conditions, generation, plan, result)
    return generation


def _ruled(conditions: Conditions, sealed: Sealed, attempt: Attempt) -> Sealed:
    """The sealed plan with who decides at its looks: the policy, on the evidence of the cells before them."""
    plan = sealed.plan
    subject = _subject(conditions, plan.generation, attempt.overlay)

    def evidence(rows: Sequence[Row]) -> Evidence:
        found = _evidence(conditions, plan, SweepResult(tuple(rows), None))
        return structs.replace(found, campaign=_place(conditions, subject))

    rule = look_rule(conditions.policy, plan, _pairs(conditions, plan), evidence)
    return structs.replace(sealed, rule=rule)


def _pairs(conditions: Conditions, plan: Plan) -> list[tuple[str, str]]:
    """(incumbent arm, candidate arm)."""
    arms = conditions.ground.config.arms
    return [(str(arms[name].candidate_of), name) for name in plan.arms if arms[name].role == "candidate"]


def _seal(conditions: Conditions, folder: Path, plan: Plan, reigning: Reigning) -> None:
    """Write the lock, before anything is reserved."""
    errands = conditions.errands
    proposing: Parts = {}
    if errands is not None:
        proposing = of_proposer(errands.messenger.crew.agent, errands.prompt)
    canonical, parent = reigning.canonical, reigning.parent
    seal_generation(conditions.ground, conditions.run, folder, plan, canonical, parent, proposing)


def _reserve(conditions: Conditions, number: int, overlay: Overlay, folder: Path) -> None:
    """Charge the release test before its first cell; one that an earlier process charged is not charged again."""
    if conditions.campaign:
        conditions.campaign.reserve(_subject(conditions, number, overlay), folder)


def _place(conditions: Conditions, subject: Subject) -> CampaignState | UnsetType:
    return conditions.campaign.place(subject) if conditions.campaign else UNSET


def _subject(conditions: Conditions, number: int, overlay: Overlay) -> Subject:
    return Subject(
        run=conditions.run.id,
        generation=number,
        overlay=overlay.digest,
        suite=conditions.ground.suite.digest,
        policy=conditions.policy.name,
    )


def _evidence(conditions: Conditions, plan: Plan, result: SweepResult) -> Evidence:
    ground, pairs = conditions.ground, _pairs(conditions, plan)
    _check_rows(conditions, plan, result, pairs)
    evidence = collect_evidence(
        result.rows,
        tasks=[
            (task.id, task.class_, task.split, task.critical)
            for task in ground.tasks
            if task.id in plan.tasks
        ],
        pairs=pairs,
        model=ground.measured_model,
        deterministic=ground.agent.deterministic,
        stopped=result.stopped,
        split=ground.config.promotion.split if ground.config.promotion else "all",
    )
    called = structs.replace(evidence, calls_model=ground.agent.calls_model, looks=evidence_looks(plan))
    return with_drift(called, result.drift)


def _check_rows(
    conditions: Conditions, plan: Plan, result: SweepResult, pairs: Sequence[tuple[str, str]]
) -> None:
    """RuntimeError for rows that this sweep cannot have measured: a bug, and nothing to decide on."""
    config = conditions.ground.config
    faults = list(foreign_faults(result.rows, expected_rows(config, plan, digest_json(plan))))
    if conditions.policy.pairs_repeats and result.stopped is None:
        faults += unpaired_faults(result.rows, pairs, plan.tasks)
    if faults:
        raise RuntimeError("\n".join(["the sweep left rows that are not its own:", *faults]))


def _write_promotion(conditions: Conditions, generation: Generation, result: SweepResult) -> None:
    """promotion.json, from which the decision can be reached again."""
    ground = conditions.ground
    metadata = PromotionMetadata(
        generated_at=max([datetime.now(UTC), *(row.finished_at for row in result.rows)]),
        run=conditions.run.id,
        generation=generation.number,
        idea=generation.proposal.idea,
        idea_digest=generation.proposal.idea_digest,
        suite=ground.suite.name,
        suite_digest=ground.suite.digest,
        overlay=generation.overlay.digest,
        base_skills=skill_digests(generation.base),
        result_skills=skill_digests(generation.skills),
        agent=ground.agent_name,
        contained=ground.sandbox.contains,
        configuration=digest_json(ground.config),
        rows=digest_rows(result.rows),
        exit_code=int(generation.code),
    )
    document = promotion_document(generation.evidence, generation.verdict, metadata)
    write_promotion(generation.folder / "promotion.json", document)


def _write_report(conditions: Conditions, generation: Generation, plan: Plan, result: SweepResult) -> None:
    """report.md, which people read; the verdict is announced once it is there."""
    verdict = generation.verdict
    advice = topup_advice(conditions.run.id, generation.missing) if may_be_topped_up(generation) else None
    said = ReportVerdict(SENTENCES[verdict.decision], verdict.reasons, advice)
    path, spared = generation.folder / REPORT, extent(generation.folder, plan).spared
    report = sweep_report(conditions.ground, plan, result, said, spared)
    write_whole(path, render_report(report).encode())
    conditions.watcher.see(
        VerdictReached(
            generation=generation.number, decision=verdict.decision, reasons=verdict.reasons, report=str(path)
        )
    )

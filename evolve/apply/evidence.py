"""Whether a promotion follows from what lies on the disk, and whether it may be applied. Pure."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import pairwise

from msgspec import structs

from bench.config import Config, config_digest
from bench.digest import canonical_json
from bench.errors import UserError
from bench.exits import ExitCode
from bench.results import Row, latest_attempts
from bench.skills import Skill, combined_digest, required_arms, stack_overlays
from evolve.apply.problems import Problem
from evolve.apply.promoted import PromotedGeneration, PromotedRun
from evolve.errors import PromotionError
from evolve.gate import Evidence, collect_evidence, digest_rows, recompute

LIFETIME = timedelta(days=90)
TOLERANCE = timedelta(minutes=5)

_RESTORE = "restore the run folder from a copy, or measure again: evolve"


def integrity_problems(promoted: PromotedRun) -> Iterator[Problem]:
    """Whatever in a run does not follow from the rest of it: it was edited, or damaged."""
    for generation in promoted.generations:
        for what in (
            *_verdict_faults(generation),
            *_identity_faults(promoted, generation),
            *_row_faults(promoted.config, generation),
        ):
            yield Problem(f"{generation.folder}: {what}", _RESTORE)
    yield from _stack_problems(promoted)


def admission_problems(promoted: PromotedRun, now: datetime) -> Iterator[Problem]:
    """Why sound evidence may not be applied all the same: partial, too old, from the future, not contained."""
    for generation in promoted.generations:
        yield from _completeness_problems(generation)
        yield from _time_problems(generation, promoted.run.id, now)
        if not generation.promotion.metadata.contained or promoted.config.sandbox.name == "host":
            yield Problem(
                f"{generation.folder}: it was measured without containment (sandbox={promoted.config.sandbox.name}), "
                "where a cell can reach the oracles: that is never applied",
                f"measure again contained: {measure_again(promoted.run.id)} sandbox=bubblewrap",
            )


def measure_again(run: str) -> str:
    """The command that measures a run's champion anew, on the skills as they are then."""
    return f"evolve proposer=manual proposer.options.overlay=runs/{run}/champion"


def _verdict_faults(generation: PromotedGeneration) -> Iterator[str]:
    try:
        recompute(generation.promotion)
    except PromotionError as error:
        yield f"promotion.json: {error}"


def _identity_faults(promoted: PromotedRun, generation: PromotedGeneration) -> Iterator[str]:
    """Files that belong to other files than those beside them."""
    about, plan = generation.promotion.metadata, generation.plan
    configuration = config_digest(promoted.config)
    arms = promoted.config.arms.values()
    skills = {skill for arm in arms if arm.family is None for skill in arm.skills}
    rules: Mapping[str, bool] = {
        f"promotion.json is one of run {about.run}": about.run == promoted.run.id,
        f"promotion.json is one of generation {about.generation}": about.generation == generation.number,
        "the overlay is not the one that was measured": about.overlay == generation.overlay.digest,
        "promotion.json belongs to another config.json": about.configuration == configuration,
        "plan.json belongs to another config.json": plan.configuration == configuration,
        "plan.json plans another overlay": plan.overlay == about.overlay,
        "promotion.json is about other skills": set(about.base_skills) == set(about.result_skills) == skills,
        "plan.json plans another generation": plan.generation == about.generation,
        "plan.json plans another suite": plan.suite == about.suite_digest,
    }
    yield from (fault for fault, holds in rules.items() if not holds)


def _row_faults(config: Config, generation: PromotedGeneration) -> Iterator[str]:
    """What stands between the rows and the evidence that the verdict was reached from."""
    rows, stated = generation.rows, generation.promotion
    if generation.torn:
        yield "results.jsonl ends in a torn line"
    if any(row.identity.plan != generation.plan_digest for row in rows):
        yield "plan.json is not the one that the rows of results.jsonl were measured by"
    if any(row.provenance.skill != _skill_digest(config, generation, row) for row in rows):
        yield "the rows of results.jsonl were measured with other skills than promotion.json says"
    if digest_rows(latest_attempts(rows)) != stated.metadata.rows:
        yield "results.jsonl does not hold the rows that the verdict was reached from"
        return
    try:
        evidence = _collected(config, generation)
    except (ValueError, UserError) as error:
        yield f"the evidence does not follow from the rows: {error}"
        return
    if canonical_json(evidence) != canonical_json(stated.evidence):
        yield "the evidence in promotion.json does not follow from the rows of results.jsonl"


def _skill_digest(config: Config, generation: PromotedGeneration, row: Row) -> str | None:
    """What a row says of its skills if they were those of the promotion; its own word for what is no business here."""
    arm = config.arms.get(row.identity.arm)
    if arm is None or arm.family is not None or not arm.skills:
        return row.provenance.skill
    digests = generation.result if arm.role == "candidate" else generation.base
    return combined_digest({name: Skill(name, {}, digests.get(name, "")) for name in arm.skills})


def _collected(config: Config, generation: PromotedGeneration) -> Evidence:
    """The evidence once more, for every candidate arm that the configuration demands and every task of the plan."""
    stated = generation.promotion.evidence
    facts = {
        (task.task, task.task_class, task.split, task.critical)
        for pair in stated.pairs
        for task in pair.tasks
    }
    _check_facts(config, generation, {fact[:3] for fact in facts})
    arms = {name: config.arms[name] for name in required_arms(config.arms, generation.overlay.touched)}
    collected = collect_evidence(
        generation.rows,
        tasks=facts,
        pairs=[(str(arm.candidate_of), name) for name, arm in arms.items() if arm.role == "candidate"],
        model=stated.model,
        deterministic=stated.deterministic,
        stopped=stated.stopped,
        split=stated.split,
    )
    # what no row says: the plan's looks, and the place in the campaign, which its chained file vouches for
    return structs.replace(collected, looks=stated.looks, campaign=stated.campaign)


def _check_facts(
    config: Config, generation: PromotedGeneration, facts: Collection[tuple[str, str, str]]
) -> None:
    """ValueError when what the evidence says of itself is not what plan, rows and configuration say."""
    stated = generation.promotion.evidence
    identities = [row.identity for row in generation.rows]
    if {task for task, *_ in facts} != set(generation.plan.tasks):
        raise ValueError("its tasks are not those of the plan")
    if any((row.task, row.task_class, row.split) not in facts for row in identities):
        raise ValueError("its classes or splits are not those of the rows")
    if stated.model not in {config.model.id, *(f"{row.agent}/{row.agent_version}" for row in identities)}:
        raise ValueError("its model is not the one that was measured")
    if config.promotion is None or stated.split != config.promotion.split:
        raise ValueError("it is on another split than was configured")


def _stack_problems(promoted: PromotedRun) -> Iterator[Problem]:
    """A chain of promotions that breaks, and a champion that is not their stack."""
    generations = promoted.generations
    for earlier, later in pairwise(generations):
        if dict(earlier.result) != dict(later.base):
            yield Problem(f"{later.folder} was not measured on the result of {earlier.folder.name}", _RESTORE)
    stack = stack_overlays([each.overlay for each in generations]).files
    champion = promoted.champion.files
    proposing = promoted.config.proposer
    built_on = proposing is not None and proposing.unapplied == "build_on"
    added = set() if built_on else set(champion) - set(stack)
    changed = [path for path, content in stack.items() if champion.get(path) != content]
    for path in sorted([*changed, *added]):
        yield Problem(f"{promoted.run.path / 'champion' / path} is not what the run promoted", _RESTORE)


def _completeness_problems(generation: PromotedGeneration) -> Iterator[Problem]:
    stopped, code = generation.promotion.evidence.stopped, generation.promotion.metadata.exit_code
    remedy = "measure again to the end: evolve"
    unmeasured = {cell.key for cell in generation.plan.cells} - {row.key for row in generation.rows}
    if unmeasured:
        yield Problem(
            f"{generation.folder}: its evidence is partial: {len(unmeasured)} cells of its plan have no row",
            remedy,
        )
    if stopped is not None:
        yield Problem(
            f"{generation.folder}: its evidence is partial: the sweep was stopped ({stopped})", remedy
        )
    if code != ExitCode.VERDICT:
        yield Problem(
            f"{generation.folder}: its evidence is partial or unusable: it ended with exit code {code}",
            remedy,
        )


def _time_problems(generation: PromotedGeneration, run: str, now: datetime) -> Iterator[Problem]:
    made = generation.promotion.metadata.generated_at
    if made > now + TOLERANCE:
        yield Problem(
            f"{generation.folder}: its evidence is from the future ({made:%Y-%m-%d %H:%M} UTC)",
            "set the clock of this machine, or of the one that measured",
        )
    if now > made + LIFETIME:
        yield Problem(
            f"{generation.folder}: its evidence expired: it is from {made:%Y-%m-%d}, and models, agents and "
            f"harnesses change; it counts for {LIFETIME.days} days",
            f"measure again: {measure_again(run)}",
        )

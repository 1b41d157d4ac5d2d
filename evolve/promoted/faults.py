"""Whatever in a judged generation does not follow from the rest of its run: it was edited, or damaged."""

from collections.abc import Iterator

from bench.config import Config, config_digest
from bench.digest import canonical_json
from bench.errors import UserError
from bench.results import Row
from bench.skills import Skill, combined_digest, required_arms
from bench.sweep import Plan
from evolve.errors import PromotionError
from evolve.gate import Expected, foreign_faults, policy_named, recompute, unpaired_faults
from evolve.promoted.differences import differences
from evolve.promoted.files import PromotedGeneration
from evolve.promoted.rebuild import rebuild


def generation_faults(config: Config, run: str, generation: PromotedGeneration) -> Iterator[str]:
    """All that is wrong, the first cause first. The rows are believed; they carry the plan's digest, the plan those
    of configuration, overlay and suite, and promotion.json must be what follows from all of these.
    """
    foundation = [*_plan_faults(config, generation), *_row_faults(config, generation)]
    yield from foundation
    yield from _verdict_faults(generation)
    if not foundation:
        yield from _differences(config, run, generation)
    yield from _time_faults(generation)


def _plan_faults(config: Config, generation: PromotedGeneration) -> Iterator[str]:
    plan, overlay = generation.plan, generation.overlay
    arms = required_arms(config.arms, overlay.touched)
    if plan.overlay != overlay.digest:
        yield f"the overlay is not the one that was measured: its digest is {overlay.digest}, plan.json says {plan.overlay}"
    if plan.configuration != config_digest(config):
        yield "plan.json belongs to another config.json"
    if plan.generation != generation.number:
        yield f"plan.json plans another generation: {plan.generation}"
    if set(plan.arms) != set(arms):
        yield f"plan.json plans the arms {', '.join(plan.arms)}, config.json demands {', '.join(arms)}"


def _row_faults(config: Config, generation: PromotedGeneration) -> Iterator[str]:
    if generation.torn:
        yield "results.jsonl ends in a torn line"
    if any(row.identity.plan != generation.plan_digest for row in generation.rows):
        yield "plan.json is not the one that the rows of results.jsonl were measured by"
        return
    for fault in foreign_faults(
        generation.rows, expected_rows(config, generation.plan, generation.plan_digest)
    ):
        yield f"results.jsonl: {fault}"
    if generation.spared & {row.key for row in generation.rows}:
        yield "results.jsonl has rows of cells that looks.jsonl says were spared"
    if any(row.provenance.skill != _skill_digest(config, generation, row) for row in generation.rows):
        yield "the rows of results.jsonl were measured with other skills than plan.json says"


def expected_rows(config: Config, plan: Plan, plan_digest: str) -> Expected:
    """What every row of a plan must say of itself."""
    return Expected(
        plan=plan_digest,
        generation=plan.generation,
        agent=plan.declared.agent,
        model=config.model.id,
        effort=config.effort,
        seed=plan.seed,
        overlay=plan.overlay,
        cells=frozenset(cell.key for cell in plan.cells),
        roles={name: config.arms[name].role for name in plan.arms if name in config.arms},
    )


def _skill_digest(config: Config, generation: PromotedGeneration, row: Row) -> str | None:
    """What a row says of its skills if they were those of the plan; its own word for what is no business here."""
    arm = config.arms.get(row.identity.arm)
    if arm is None or arm.family is not None or not arm.skills:
        return row.provenance.skill
    digests = generation.result if arm.role == "candidate" else generation.base
    return combined_digest({name: Skill(name, {}, digests.get(name, "")) for name in arm.skills})


def _verdict_faults(generation: PromotedGeneration) -> Iterator[str]:
    try:
        recompute(generation.promotion)
    except (PromotionError, UserError) as error:
        yield f"promotion.json: {error}"


def _differences(config: Config, run: str, generation: PromotedGeneration) -> Iterator[str]:
    """What promotion.json says otherwise than everything else in the run."""
    stated = generation.promotion
    try:
        rebuilt = rebuild(config, run, generation)
        yield from _unpaired(generation)
    except (ValueError, UserError) as error:
        yield f"no promotion follows from the run's files: {error}"
        return
    named = differences(stated, rebuilt)
    yield from (f"promotion.json: {each}" for each in named)
    if not named and canonical_json(stated) != canonical_json(rebuilt):
        yield "promotion.json is not what follows from the run's files"


def _unpaired(generation: PromotedGeneration) -> Iterator[str]:
    stated = generation.promotion
    if policy_named(stated.verdict.policy, stated.verdict.parameters).pairs_repeats:
        pairs = [(pair.incumbent_arm, pair.candidate_arm) for pair in stated.evidence.pairs]
        yield from unpaired_faults(generation.rows, pairs, generation.plan.tasks)


def _time_faults(generation: PromotedGeneration) -> Iterator[str]:
    """A verdict is reached after the last row that it rests on."""
    made = generation.promotion.metadata.generated_at
    last = max((row.finished_at for row in generation.rows), default=made)
    if made < last:
        yield (
            f"promotion.json: metadata.generated_at: it says {made.isoformat()}, "
            f"but the last row was finished at {last.isoformat()}"
        )

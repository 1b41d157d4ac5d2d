"""Worlds in which the truth is known: what a policy decides there shows how often it is wrong."""

from collections.abc import Sequence
from math import exp, log
from random import Random

from msgspec import Struct

from evolve.certify.arms import arm_of, outcome_row
from evolve.gate import CampaignState, Evidence, PairEvidence, RowEvidence, TaskEvidence

# (share, alpha, beta): near the ceiling, near the floor, contested [research/peers_evolution.md, provenance tags]
LATENT_MIX = ((0.40, 19.0, 1.0), (0.25, 1.0, 19.0), (0.35, 2.0, 2.0))
COST_VARIATION = 0.3
EVIDENCE_VERSION = 1
ARMS = ("incumbent", "candidate")


class World(Struct, frozen=True, kw_only=True):
    """A design, and how the candidate truly differs. `effect` is in shares of resolved cells on average, `saving` a
    share of the cost. `drift` is how much worse the incumbent was when it was measured, if its rows are `reused`.
    `lost` is the share of the candidate's failing rows that could not be measured.
    """

    tasks: int
    repeats: int
    effect: float = 0.0
    saving: float = 0.0
    cost_variation: float = COST_VARIATION
    reused: bool = False
    drift: float = 0.0
    lost: float = 0.0
    deterministic: bool = False


def draw(world: World, random: Random, test: int = 1) -> Evidence:
    """One sweep in this world, as a policy would see it."""
    chances = _chances(world.tasks, random)
    shift, past = logit_shift(chances, world.effect), logit_shift(chances, -world.drift)
    tasks = tuple(_task(index, chance, world, (shift, past), random) for index, chance in enumerate(chances))
    return evidence_of(tasks, test, deterministic=world.deterministic)


def evidence_of(tasks: Sequence[TaskEvidence], test: int = 1, *, deterministic: bool = False) -> Evidence:
    """Tasks as evidence for release test number `test` of a campaign."""
    return Evidence(
        schema_version=EVIDENCE_VERSION,
        model="world",
        deterministic=deterministic,
        stopped=None,
        split="all",
        pairs=(PairEvidence(incumbent_arm=ARMS[0], candidate_arm=ARMS[1], tasks=tuple(tasks)),),
        campaign=CampaignState(name="world", release_test=test, head="0" * 64),
    )


def shifted(chance: float, shift: float) -> float:
    """A chance, moved in logit."""
    return 1 / (1 + exp(-(log(chance / (1 - chance)) + shift)))


def logit_shift(chances: Sequence[float], effect: float) -> float:
    """The shift in logit that changes the mean chance by `effect`, or as far as it goes."""
    mean = sum(chances) / len(chances)
    low, high = -12.0, 12.0
    for _ in range(50):
        middle = (low + high) / 2
        if sum(shifted(chance, middle) for chance in chances) / len(chances) - mean < effect:
            low = middle
        else:
            high = middle
    return 0.0 if effect == 0 else (low + high) / 2


def _chances(tasks: int, random: Random) -> list[float]:
    weights = [weight for weight, _, _ in LATENT_MIX]
    chosen = random.choices(LATENT_MIX, weights, k=tasks)
    return [min(max(random.betavariate(alpha, beta), 1e-9), 1 - 1e-9) for _, alpha, beta in chosen]


def _task(
    index: int, chance: float, world: World, shifts: tuple[float, float], random: Random
) -> TaskEvidence:
    shift, past = shifts
    before = [
        _row(repeat, shifted(chance, past), 0.0, world, random, fresh=not world.reused)
        for repeat in range(world.repeats)
    ]
    now = [
        _row(repeat, shifted(chance, shift), world.saving, world, random) for repeat in range(world.repeats)
    ]
    kept = [row for row in now if row.resolved or random.random() >= world.lost]
    return TaskEvidence(
        task=f"t{index:04}",
        task_class="implementation",
        split="train",
        critical=False,
        incumbent=arm_of(before),
        candidate=arm_of(kept, world.repeats),
    )


def _row(
    repeat: int, chance: float, saving: float, world: World, random: Random, *, fresh: bool = True
) -> RowEvidence:
    spread = log(1 + world.cost_variation**2) ** 0.5
    cost = (1 - saving) * random.lognormvariate(0.0, spread)
    return outcome_row(repeat, resolved=random.random() < chance, cost=cost, fresh=fresh)

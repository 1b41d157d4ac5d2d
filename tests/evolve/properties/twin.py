"""A vectorised twin of `exact` and `anytime` on outcomes, with the guards on: the same decisions, thousands at a time.

Whatever numpy cannot settle by a bound goes through the guards' own code. `test_twin.py` holds it against
`Policy.decide`. Worlds have no critical task, no review scores, and a duration that follows the cost.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from evolve.gate import Policy
from evolve.gate.betting import e_value
from evolve.gate.boundaries import Look, walk
from evolve.gate.endpoints import ENDPOINTS
from evolve.gate.guards import GuardSample, breaks
from evolve.gate.power import conditional_power, expected_differing, share_found
from evolve.gate.samples import Pairing, TaskSample
from evolve.gate.signs import needed_wins
from evolve.gate.spending import as_fraction
from evolve.gate.units import log_units

MIN_RUNS = 2

Mix = tuple[tuple[float, float, float], ...]

LATENT_MIX: Mix = ((0.40, 19.0, 1.0), (0.25, 1.0, 19.0), (0.35, 2.0, 2.0))
OTHER_MIX: Mix = ((0.20, 8.0, 1.0), (0.40, 1.0, 8.0), (0.40, 1.5, 1.5))


@dataclass(frozen=True)
class Sweeps:
    """Many sweeps: outcomes of both arms and the log ratio of costs, as (sweep, task, repeat)."""

    incumbent: np.ndarray
    candidate: np.ndarray
    ratio: np.ndarray

    @property
    def differences(self) -> np.ndarray:
        return self.candidate.astype(np.int8) - self.incumbent.astype(np.int8)


def draw_sweeps(
    rng: np.random.Generator,
    count: int,
    tasks: int,
    repeats: int,
    effect: float = 0.0,
    *,
    mix: Mix = LATENT_MIX,
    saving: float = 0.0,
    variation: float = 0.3,
    drift: float = 0.0,
) -> Sweeps:
    """`drift` is how much worse the incumbent did when it was measured."""
    kinds = rng.choice(len(mix), size=(count, tasks), p=[share for share, _, _ in mix])
    alpha, beta = (np.array([part[i] for part in mix])[kinds] for i in (1, 2))
    chances = np.clip(rng.beta(alpha, beta), 1e-9, 1 - 1e-9)
    now, past = shifted(chances, effect), shifted(chances, -drift)
    shape = (count, tasks, repeats)
    spread = np.sqrt(np.log(1 + variation**2))
    logs = rng.normal(0, spread, (2, *shape))
    ratio = logs[0] - logs[1] - np.log(1 - saving)
    return Sweeps(
        rng.random(shape) < past[..., None],
        rng.random(shape) < now[..., None],
        np.clip(half_away(1000 * ratio), -4000, 4000).astype(np.int64),
    )


def shifted(chances: np.ndarray, effect: float) -> np.ndarray:
    """Shift in logit so that the mean over many suites changes by `effect`."""
    if effect == 0:
        return chances
    logits, mean = np.log(chances / (1 - chances)), chances.mean()
    low, high = -12.0, 12.0
    sample = logits.ravel()[:200_000]
    mean = (1 / (1 + np.exp(-sample))).mean()
    for _ in range(50):
        middle = (low + high) / 2
        if (1 / (1 + np.exp(-(sample + middle)))).mean() - mean < effect:
            low = middle
        else:
            high = middle
    return 1 / (1 + np.exp(-(logits + low)))


def half_away(values: np.ndarray) -> np.ndarray:
    return np.sign(values) * np.floor(np.abs(values) + 0.5)


def promotes(policy: Policy, sweeps: Sweeps, release_test: int = 1) -> np.ndarray:
    """Whether each sweep is promoted."""
    level = policy.parameters.level(release_test)
    shown = _shown(policy, sweeps.differences, level)
    candidates = np.flatnonzero(shown)
    found = shown.copy()
    for index in candidates[_suspicious(policy, sweeps, candidates)]:
        found[index] = not _breaks(policy, sweeps, index)
    return found


def _shown(policy: Policy, differences: np.ndarray, level: Fraction) -> np.ndarray:
    """`exact` looks at the end, `anytime` after each repeat."""
    if policy.name == "exact":
        return _passes(differences, lambda n: _exact_wins(n, level))
    repeats = differences.shape[2]
    return np.any(
        [_passes(differences[..., : k + 1], lambda n: _betting_wins(n, level)) for k in range(repeats)],
        axis=0,
    )


def _passes(differences: np.ndarray, needed: Callable[[int], int]) -> np.ndarray:
    differing = (differences != 0).sum(axis=(1, 2))
    table = np.array([needed(n) for n in range(differing.max(initial=0) + 1)])
    return (differences > 0).sum(axis=(1, 2)) >= table[differing]


@cache
def _exact_wins(differing: int, level: Fraction) -> int:
    wins = needed_wins(differing, level)
    return differing + 1 if wins is None else wins


@cache
def _betting_wins(differing: int, level: Fraction) -> int:
    low, high = 0, differing + 1
    while low < high:
        middle = (low + high) // 2
        if e_value([1] * middle + [-1] * (differing - middle), 1) * level >= 1:
            high = middle
        else:
            low = middle + 1
    return low


def _suspicious(policy: Policy, sweeps: Sweeps, chosen: np.ndarray) -> np.ndarray:
    """Which of the sweeps a guard might break: a p-value is at least 2^(values that speak against it - values)."""
    guards, ratio = policy.parameters.guards, sweeps.ratio[chosen]
    _, tasks, repeats = ratio.shape
    level = float(as_fraction(policy.parameters.alpha_guard))
    found = np.zeros(len(chosen), dtype=bool)
    for guard in (guards.cost_usd, guards.seconds):
        if guard is None:
            continue
        against = -(ratio + log_units(as_fraction(guard.margin)))
        bound = 2.0 ** ((against <= 0).sum(axis=2) - repeats)
        found |= (bound <= level / (tasks + 1)).any(axis=1)
        found |= half_away(against.mean(axis=2)).sum(axis=1) > 0
        found |= np.median(ratio.mean(axis=2), axis=1) < -log_units(as_fraction(guard.cap)) + 1
    if guards.resolution is not None:
        differences = sweeps.differences[chosen]
        found |= (differences < 0).sum(axis=(1, 2)) > (differences > 0).sum(axis=(1, 2))
        found |= np.median(differences.mean(axis=2), axis=1) < 0
    return found


def _breaks(policy: Policy, sweeps: Sweeps, index: int) -> bool:
    level = as_fraction(policy.parameters.alpha_guard)
    return any(breaks(each, "worst", level) for each in _guard_samples(policy, sweeps, index))


def _guard_samples(policy: Policy, sweeps: Sweeps, index: int) -> Iterator[GuardSample]:
    guards = policy.parameters.guards
    for name, guard, values in (
        ("resolution", guards.resolution, sweeps.differences),
        ("cost_usd", guards.cost_usd, sweeps.ratio),
        ("seconds", guards.seconds, sweeps.ratio),
    ):
        if guard is None:
            continue
        samples = tuple(
            TaskSample(
                task=f"t{task}",
                critical=False,
                pairs=tuple(
                    Pairing(repeat=repeat, worst=int(value), best=int(value), reused=False, cells=())
                    for repeat, value in enumerate(row)
                ),
            )
            for task, row in enumerate(values[index])
        )
        endpoint = ENDPOINTS["resolved" if name == "resolution" else name]
        yield GuardSample(
            name=name,
            guard=guard,
            endpoint=endpoint,
            samples=samples,
            single=() if name == "resolution" else samples,
        )


def stopped_after(
    differences: np.ndarray, looks: tuple[int, ...], futility: Fraction, *, level: Fraction = Fraction(1, 20)
) -> tuple[int, bool]:
    """After how many repeats one sweep (task, repeat) of `exact` with these looks ends, and whether it promotes:
    min_runs=2, futility_power=0.9, no guards.
    """
    repeats, crossed = looks[-1], False
    blocks = [
        differences[:, first:last].ravel().tolist() for first, last in zip((0, *looks), looks, strict=False)
    ]
    for look, end in zip(walk(blocks, differences.size, level), looks, strict=True):
        crossed = crossed or look.crossed
        if crossed and end >= MIN_RUNS:
            return end, True
        if not crossed and end < repeats and _futile(look, Fraction(end, repeats), futility, level):
            return end, False
    return repeats, False


def _futile(look: Look, share: Fraction, futility: Fraction, level: Fraction) -> bool:
    supposed = share_found(expected_differing(look.differing, share), level, Fraction(9, 10))
    return conditional_power(look.observed, look.differing, share, level, supposed) < futility

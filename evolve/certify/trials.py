"""Certifying: the checks and the curve. Pure but for a seeded generator; every trial goes through `Policy.decide`."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from random import Random

from msgspec import Struct, structs

from evolve.certify.enumeration import Design, exact_sizes, tossed
from evolve.certify.model import CERTIFICATE_VERSION, Certificate, Check, Point
from evolve.certify.resampling import Measured, permuted
from evolve.certify.worlds import World, draw
from evolve.gate import Evidence, Policy, share_interval

EFFECTS = (-0.1, 0.0, 0.05, 0.1, 0.15, 0.2, 0.3)
GENERATIONS = 10
DRIFT = 0.1
COINS = 5  # numbers of differing pairs that are simulated where none can be enumerated
MOST_COUNTS = 40  # numbers of differing pairs that are enumerated
SURE = Fraction(1, 100)  # a check fails only if the rate is above its bound beyond this doubt

Sweep = Callable[[float, int, Random], Evidence]  # effect, release test, chance -> evidence


class Job(Struct, frozen=True, kw_only=True):
    """What to certify: the design, the bound, how many trials, and the user's rows if there are any."""

    tasks: int
    repeats: int
    bound: float
    trials: int
    seed: int
    rows: str
    measured: Measured | None = None
    deterministic: bool = False
    releases: bool = True  # a policy that only moves the champion has no campaign to certify

    @property
    def design(self) -> Design:
        """The design alone."""
        return Design(tasks=self.tasks, repeats=self.repeats, deterministic=self.deterministic)

    def with_rows(self, rows: str, measured: Measured) -> "Job":
        """The same job on a user's rows."""
        return structs.replace(self, rows=rows, measured=measured)


def certify(policy: Policy, job: Job) -> Certificate:
    """Every check and the curve for one policy and design."""
    checks = tuple(_checks(policy, job))
    return Certificate(
        schema_version=CERTIFICATE_VERSION,
        policy=policy.name,
        parameters=policy.decide(_world(job, 0.0, 1, _random(job))).parameters,
        tasks=job.tasks,
        repeats=job.repeats,
        rows=job.rows,
        seed=job.seed,
        bound=job.bound,
        checks=checks,
        curve=tuple(_curve(policy, job)),
        holds=all(check.holds for check in checks),
    )


def _checks(policy: Policy, job: Job) -> Iterator[Check]:
    yield _enumerated(policy, job)
    for name, world in _worlds(job).items():
        yield _simulated(name, job, partial(_promotes_in, policy, world))
    if job.measured is not None:
        measured = job.measured
        yield _simulated(
            "your rows, labels exchanged", job, lambda random: _promotes(policy, permuted(measured, random))
        )
    if job.releases:
        yield _campaign(policy, job)


def _worlds(job: Job) -> dict[str, World]:
    """Where no candidate is better than the incumbent."""
    same = World(tasks=job.tasks, repeats=job.repeats, deterministic=job.deterministic)
    return {
        "a candidate like the incumbent": same,
        "the same, 30 % of its failing rows lost": structs.replace(same, lost=0.3),
        "the same, reused rows of an incumbent that was worse by 10 points": structs.replace(
            same, reused=True, drift=DRIFT
        ),
    }


def _enumerated(policy: Policy, job: Job) -> Check:
    """The worst number of differing pairs."""
    sizes = list(exact_sizes(policy, job.design, MOST_COUNTS))
    if sizes != list(exact_sizes(policy, job.design, MOST_COUNTS, wins_last=True)):
        return _tossed(policy, job)
    most = max(each.size for each in sizes)
    return Check(
        name="exact size, worst number of differing pairs",
        basis="enumerated",
        bound=job.bound,
        rate=float(most),
        lowest=float(most),
        promoted=None,
        trials=0,
        holds=most <= Fraction(repr(job.bound)),
    )


def _tossed(policy: Policy, job: Job) -> Check:
    """Of a policy that looks at the order of the pairs: the number of differing pairs that it errs on most."""
    name = "size by coins, worst number of differing pairs"
    pairs = job.tasks * job.repeats
    found = [
        _simulated(name, job, partial(_promotes_tossed, policy, job.design, max(1, pairs * part // COINS)))
        for part in range(1, COINS + 1)
    ]
    return max(found, key=lambda each: each.lowest)


def _promotes_tossed(policy: Policy, design: Design, differing: int, random: Random) -> bool:
    return _promotes(policy, tossed(design, differing, random))


def _campaign(policy: Policy, job: Job) -> Check:
    """Ten release tests of candidates like the incumbent, one after the other: does any of them promote?"""
    sweep = _sweep(job)

    def released(random: Random) -> bool:
        return any(_promotes(policy, sweep(0.0, test, random)) for test in range(1, GENERATIONS + 1))

    fewer = structs.replace(job, trials=max(job.trials // 5, 1))
    return _simulated(f"any release in a campaign of {GENERATIONS} such candidates", fewer, released)


def _curve(policy: Policy, job: Job) -> Iterator[Point]:
    sweep = _sweep(job)
    for effect in EFFECTS:
        random = _random(job)
        promoted = sum(_promotes(policy, sweep(effect, 1, random)) for _ in range(job.trials))
        low, high = share_interval(promoted, job.trials - promoted, Fraction(1, 40))
        yield Point(
            effect=effect,
            promoted=promoted,
            trials=job.trials,
            rate=promoted / job.trials,
            interval=(float(low), float(high)),
        )


def _simulated(name: str, job: Job, promotes: Callable[[Random], bool]) -> Check:
    random = _random(job)
    promoted = sum(promotes(random) for _ in range(job.trials))
    lowest, _ = share_interval(promoted, job.trials - promoted, SURE)
    return Check(
        name=name,
        basis="simulated",
        bound=job.bound,
        rate=promoted / job.trials,
        lowest=float(lowest),
        promoted=promoted,
        trials=job.trials,
        holds=float(lowest) <= job.bound,
    )


def _sweep(job: Job) -> Sweep:
    """The user's rows where there are some, else the world."""
    measured = job.measured
    if measured is None:
        return lambda effect, test, random: _world(job, effect, test, random)
    return lambda effect, test, random: permuted(measured, random, test, effect)


def _world(job: Job, effect: float, test: int, random: Random) -> Evidence:
    world = World(tasks=job.tasks, repeats=job.repeats, effect=effect, deterministic=job.deterministic)
    return draw(world, random, test)


def _promotes_in(policy: Policy, world: World, random: Random) -> bool:
    return _promotes(policy, draw(world, random))


def _random(job: Job) -> Random:
    """Chance that anybody can repeat; nothing secret hangs on it."""
    return Random(job.seed)  # noqa: S311


def _promotes(policy: Policy, evidence: Evidence) -> bool:
    return policy.decide(evidence).decision == "promote"

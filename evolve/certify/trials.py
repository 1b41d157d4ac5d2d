"""Certifying: the checks and the curve. Pure but for a seeded generator; every trial goes through `Policy.decide`."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random

import msgspec
from msgspec import Struct

from evolve.certify.enumeration import exact_sizes
from evolve.certify.model import CERTIFICATE_VERSION, Certificate, Check, Point
from evolve.certify.resampling import Measured, permuted
from evolve.certify.worlds import World, draw
from evolve.gate import Evidence, Policy, share_interval

EFFECTS = (-0.1, 0.0, 0.05, 0.1, 0.15, 0.2, 0.3)
GENERATIONS = 10
DRIFT = 0.1
SURE = Fraction(1, 100)  # a check fails only if the rate is above its bound beyond this doubt

Sweep = Callable[[float, int, Random], Evidence]  # effect, release test, chance -> evidence


class Task(Struct, frozen=True, kw_only=True):
    """What to certify: the design, the bound, how many trials, and the user's rows if there are any."""

    tasks: int
    repeats: int
    bound: float
    trials: int
    seed: int
    rows: str
    measured: Measured | None = None


def certify(policy: Policy, task: Task) -> Certificate:
    """Every check and the curve for one policy and design."""
    checks = tuple(_checks(policy, task))
    return Certificate(
        schema_version=CERTIFICATE_VERSION,
        policy=policy.name,
        parameters=getattr(policy.decide(_world(task, 0.0, 1, Random(task.seed))), "parameters", {}),
        tasks=task.tasks,
        repeats=task.repeats,
        rows=task.rows,
        seed=task.seed,
        bound=task.bound,
        checks=checks,
        curve=tuple(_curve(policy, task)),
        holds=all(check.holds for check in checks),
    )


def _checks(policy: Policy, task: Task) -> Iterator[Check]:
    yield _enumerated(policy, task)
    worlds: dict[str, Callable[[Random], Evidence]] = {
        "a candidate like the incumbent": lambda random: _world(task, 0.0, 1, random),
        "the same, 30 % of its failing rows lost": lambda random: _changed(task, random, lost=0.3),
        "the same, reused rows of an incumbent that was worse by 10 points": lambda random: _changed(
            task, random, reused=True, drift=DRIFT
        ),
    }
    for name, world in worlds.items():
        yield _simulated(name, task, lambda random, made=world: _promotes(policy, made(random)))  # type: ignore[misc]
    if task.measured is not None:
        measured = task.measured
        yield _simulated(
            "your rows, labels exchanged", task, lambda random: _promotes(policy, permuted(measured, random))
        )
    yield _campaign(policy, task)


def _enumerated(policy: Policy, task: Task) -> Check:
    """The worst number of differing pairs."""
    most = max((each.size for each in exact_sizes(policy, task.tasks, task.repeats, 40)), default=Fraction(0))
    return Check(
        name="exact size, worst number of differing pairs",
        basis="enumerated",
        bound=task.bound,
        rate=float(most),
        lowest=float(most),
        promoted=None,
        trials=0,
        holds=most <= Fraction(repr(task.bound)),
    )


def _campaign(policy: Policy, task: Task) -> Check:
    """Ten release tests of candidates like the incumbent, one after the other: does any of them promote?"""
    sweep = _sweep(task)

    def released(random: Random) -> bool:
        return any(_promotes(policy, sweep(0.0, test, random)) for test in range(1, GENERATIONS + 1))

    fewer = msgspec.structs.replace(task, trials=max(task.trials // 5, 1))
    return _simulated(f"any release in a campaign of {GENERATIONS} such candidates", fewer, released)


def _curve(policy: Policy, task: Task) -> Iterator[Point]:
    sweep = _sweep(task)
    for effect in EFFECTS:
        random = Random(task.seed)
        promoted = sum(_promotes(policy, sweep(effect, 1, random)) for _ in range(task.trials))
        low, high = share_interval(promoted, task.trials - promoted, Fraction(1, 40))
        yield Point(
            effect=effect,
            promoted=promoted,
            trials=task.trials,
            rate=promoted / task.trials,
            interval=(float(low), float(high)),
        )


def _simulated(name: str, task: Task, promotes: Callable[[Random], bool]) -> Check:
    random = Random(task.seed)
    promoted = sum(promotes(random) for _ in range(task.trials))
    lowest, _ = share_interval(promoted, task.trials - promoted, SURE)
    return Check(
        name=name,
        basis="simulated",
        bound=task.bound,
        rate=promoted / task.trials,
        lowest=float(lowest),
        promoted=promoted,
        trials=task.trials,
        holds=float(lowest) <= task.bound,
    )


def _sweep(task: Task) -> Sweep:
    """The user's rows where there are some, else the world."""
    measured = task.measured
    if measured is None:
        return lambda effect, test, random: _world(task, effect, test, random)
    return lambda effect, test, random: permuted(measured, random, test, effect)


def _world(task: Task, effect: float, test: int, random: Random) -> Evidence:
    return draw(World(tasks=task.tasks, repeats=task.repeats, effect=effect), random, test)


def _changed(
    task: Task, random: Random, *, lost: float = 0.0, reused: bool = False, drift: float = 0.0
) -> Evidence:
    world = World(tasks=task.tasks, repeats=task.repeats, lost=lost, reused=reused, drift=drift)
    return draw(world, random)


def _promotes(policy: Policy, evidence: Evidence) -> bool:
    return policy.decide(evidence).decision == "promote"

"""What a design can reach, before anything is paid. Pure; nothing here decides."""

from fractions import Fraction
from math import log
from statistics import NormalDist

from msgspec import Struct

from evolve.gate.endpoints import Endpoint, endpoint_named
from evolve.gate.parameters import TestingParameters
from evolve.gate.power import DISCORDANCE, LIKELY, detectable, power_planned
from evolve.gate.primary import MOST_PAIRS
from evolve.gate.spending import as_fraction

COST_VARIATION = 0.3  # of one session, where no earlier rows say it [peers_evolution A8]


class Reachability(Struct, frozen=True, kw_only=True):
    """What a design of so many tasks and repeats can show at its level.

    `smallest` is the smallest p that it can reach; a design where that is above the level is exploratory and can only
    keep or be insufficient. `finds` is the effect found with a power of 80 %, `power` that of the target; both suppose
    that pairs of identical arms differ as often as `discordance` says, and are null where no formula is known.
    """

    tasks: int
    repeats: int
    level: float
    smallest: float
    exploratory: bool
    target: float
    power: float | None
    finds: float | None
    discordance: float


def reachability(
    parameters: TestingParameters,
    tasks: int,
    repeats: int,
    release_test: int = 1,
    discordance: Fraction = DISCORDANCE,
) -> Reachability:
    """The reachability of a design under a policy's parameters."""
    endpoint, level = endpoint_named(parameters.endpoint), parameters.level(release_test)
    smallest = Fraction(1, 2 ** flipped(endpoint, tasks, repeats))
    pairs, target = tasks * repeats, as_fraction(parameters.target)
    binary = endpoint.kind == "binary" and pairs > 0
    found = detectable(pairs, level, discordance) if binary else None
    return Reachability(
        tasks=tasks,
        repeats=repeats,
        level=float(level),
        smallest=float(smallest),
        exploratory=smallest > level,
        target=parameters.target,
        power=_percent(power_planned(pairs, target, level, discordance))
        if binary
        else _saving(endpoint, pairs, level, float(target)),
        finds=None if found is None else float(found),
        discordance=float(discordance),
    )


def reachability_words(found: Reachability, endpoint: str) -> str:
    """For the forecast."""
    design = f"{found.tasks} tasks x {found.repeats} repeats on {endpoint}, level {found.level:.3g}"
    if found.exploratory:
        return (
            f"exploratory: {design} cannot promote whatever comes out (smallest p {found.smallest:.3g}); "
            "add tasks or repeats, or it can only keep or be insufficient"
        )
    if found.power is None:
        return f"{design}: smallest p {found.smallest:.3g}; power unknown before scores were measured"
    power = f"+{100 * found.target:.3g} % or points found with a power of about {100 * found.power:.0f} %"
    finds = (
        "" if found.finds is None else f"; {100 * found.finds:.0f} points with a power of {float(LIKELY):.0%}"
    )
    return f"{design}: smallest p {found.smallest:.3g}; {power}{finds} (if {found.discordance:.0%} of identical pairs differ)"


def flipped(endpoint: Endpoint, tasks: int, repeats: int) -> int:
    """How many signs the test of this endpoint exchanges: pairs, or tasks."""
    by_task = endpoint.kind == "score" or (endpoint.kind == "ratio" and tasks * repeats > MOST_PAIRS)
    return tasks if by_task else tasks * repeats


def _saving(endpoint: Endpoint, pairs: int, level: Fraction, target: float) -> float | None:
    """Of a saving, by the normal approximation; log ratios of two sessions vary by √2 of what one does."""
    if endpoint.kind != "ratio" or not pairs or not 0 < target < 1:
        return None
    normal = NormalDist()
    distance = -log(1 - target) / (COST_VARIATION * 2**0.5) * pairs**0.5
    return round(normal.cdf(distance - normal.inv_cdf(1 - float(level))), 2)


def _percent(share: Fraction) -> float:
    return round(float(share), 2)

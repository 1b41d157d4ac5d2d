"""What a design can reach, before anything is paid. Pure; nothing here decides."""

from fractions import Fraction
from math import log
from statistics import NormalDist

from msgspec import Struct

from evolve.gate.betting import e_value
from evolve.gate.endpoints import Endpoint, endpoint_named
from evolve.gate.expecting import Course, Outlook, outlook
from evolve.gate.parameters import ExactParameters, TestingParameters
from evolve.gate.power import DISCORDANCE, LIKELY, detectable, power_planned
from evolve.gate.primary import MOST_PAIRS
from evolve.gate.spending import as_fraction
from evolve.gate.units import LOG_UNITS

COST_VARIATION = 0.3  # of one session, where no earlier rows say it [peers_evolution A8]


class Reachability(Struct, frozen=True, kw_only=True):
    """What a design of so many tasks and repeats can show at its level.

    `smallest` is the smallest p that it can reach (of an e-value, one over the largest). A design where that is above
    the level, or with too few repeats for any promotion, is `exploratory`: it can only keep or be insufficient.
    `finds` is the effect found with a power of 80 %, `power` that of the target; both are of the exact test, suppose
    that pairs of identical arms differ as often as `discordance` says, and are null where no formula is known.
    `share_no_effect` and `share_target` of the planned cells are expected to be measured if the candidate is no
    better, and if it is better by the target.
    """

    endpoint: str
    tasks: int
    repeats: int
    least_repeats: int
    level: float
    smallest: float
    exploratory: bool
    target: float
    power: float | None
    finds: float | None
    discordance: float
    share_no_effect: float = 1.0
    share_target: float = 1.0


class Design(Struct, frozen=True, kw_only=True):
    """How many tasks one pair of arms is compared on, how often each, for which release test of a campaign, and after
    which numbers of repeats the sweep is looked at, if not only at its end.
    """

    tasks: int
    repeats: int
    deterministic: bool = False
    release_test: int = 1
    schedule: tuple[int, ...] = ()


def reachability(
    parameters: TestingParameters, design: Design, *, betting: bool, discordance: Fraction = DISCORDANCE
) -> Reachability:
    """The reachability of a design under a policy's parameters; `betting` for a policy with an e-value."""
    endpoint, level = endpoint_named(parameters.endpoint), parameters.level(design.release_test)
    tasks, repeats = design.tasks, design.repeats
    smallest = _smallest(endpoint, tasks, repeats, betting=betting)
    least = 1 if design.deterministic else parameters.min_runs
    pairs, target = tasks * repeats, as_fraction(parameters.target)
    binary = endpoint.kind == "binary" and pairs > 0
    found = detectable(pairs, level, discordance) if binary else None
    looked = _looked(parameters, design, level, discordance) if binary and not betting else None
    return Reachability(
        endpoint=endpoint.name,
        tasks=tasks,
        repeats=repeats,
        least_repeats=least,
        level=float(level),
        smallest=float(smallest),
        exploratory=smallest > level or repeats < least,
        target=parameters.target,
        power=_saving(endpoint, pairs, level, float(target))
        if not binary
        else round(looked[1].power, 2)
        if looked
        else _percent(power_planned(pairs, target, level, discordance)),
        finds=None if found is None else float(found),
        discordance=float(discordance),
        share_no_effect=round(looked[0].share, 2) if looked else 1.0,
        share_target=round(looked[1].share, 2) if looked else 1.0,
    )


def _looked(
    parameters: TestingParameters, design: Design, level: Fraction, discordance: Fraction
) -> tuple[Outlook, Outlook] | None:
    """The outlook without an effect and with the target; None where nothing looks before the end."""
    if len(design.schedule) < 2 or not isinstance(parameters, ExactParameters):  # noqa: PLR2004
        return None
    course = Course(
        tasks=design.tasks,
        schedule=design.schedule,
        least=parameters.min_runs,
        level=level,
        futility=as_fraction(parameters.futility),
        futility_power=as_fraction(parameters.futility_power),
    )
    none, target = Fraction(0), as_fraction(parameters.target)
    return outlook(course, discordance, none), outlook(course, discordance, target)


def reachability_words(found: Reachability) -> str:
    """For the forecast."""
    design = f"{found.tasks} tasks x {found.repeats} repeats on {found.endpoint}, level {found.level:.3g}"
    if found.repeats < found.least_repeats:
        return (
            f"exploratory: {design} cannot promote whatever comes out: min_runs asks for {found.least_repeats} repeats "
            "of an agent that varies; raise repeats, or it can only keep or be insufficient"
        )
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


def _smallest(endpoint: Endpoint, tasks: int, repeats: int, *, betting: bool) -> Fraction:
    """The value of the test if every difference is as good as it can be."""
    if not betting:
        return Fraction(1, 2 ** flipped(endpoint, tasks, repeats))
    bound = LOG_UNITS if endpoint.kind == "ratio" else endpoint.bound
    return 1 / e_value([bound] * (tasks * repeats), bound)


def _saving(endpoint: Endpoint, pairs: int, level: Fraction, target: float) -> float | None:
    """Of a saving, by the normal approximation; log ratios of two sessions vary by √2 of what one does."""
    if endpoint.kind != "ratio" or not pairs or not 0 < target < 1:
        return None
    normal = NormalDist()
    distance = -log(1 - target) / (COST_VARIATION * 2**0.5) * pairs**0.5
    return round(normal.cdf(distance - normal.inv_cdf(1 - float(level))), 2)


def _percent(share: Fraction) -> float:
    return round(float(share), 2)

"""How far a sweep with looks is expected to go, and its power, before anything is measured. For planning only."""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from evolve.gate.boundaries import walk
from evolve.gate.power import conditional_power, share_found


class Course(Struct, frozen=True, kw_only=True):
    """A sweep of so many tasks with looks after these numbers of repeats, none of which may promote before
    `least` of them. `futility` and `futility_power` are those of the policy; None never gives up.
    """

    tasks: int
    schedule: tuple[int, ...]
    least: int
    level: Fraction
    futility: Fraction | None
    futility_power: Fraction


class Outlook(Struct, frozen=True, kw_only=True):
    """The share of the cells that is expected to be measured, and the chance to promote."""

    share: float
    power: float


def outlook(course: Course, discordance: Fraction, effect: Fraction) -> Outlook:
    """The outlook for a mean difference of `effect`, if just as many pairs differ as expected: a share of
    `discordance` (or of the effect, if that is more).
    """
    chance = max(discordance, effect)
    share = float((1 + effect / chance) / 2)
    seen = [course.tasks * repeats for repeats in course.schedule]
    differing = [round(pairs * chance) for pairs in seen]
    blocks = [
        [1] * (now - before) + [0] * (pairs - now - earlier + before)
        for now, before, pairs, earlier in zip(differing, [0, *differing], seen, [0, *seen], strict=False)
    ]
    needed = [look.needed for look in walk(blocks, max(seen[-1], 1), course.level)]
    going, used, power = [1.0], 0.0, 0.0
    for look, repeats in enumerate(course.schedule):
        going = _spread(going, sum(blocks[look]), share)
        least = needed[look]
        crossed = 0.0 if least is None else sum(going[least:])
        going = going if least is None else going[:least]
        power += crossed
        used += crossed * max(repeats, min(course.least, course.schedule[-1]))
        over = [wins for wins in range(len(going)) if _given_up(course, look, (wins, differing[look]))]
        used += sum(going[wins] for wins in over) * repeats
        going = [0.0 if wins in set(over) else mass for wins, mass in enumerate(going)]
    return Outlook(share=used / course.schedule[-1], power=power)


def _given_up(course: Course, look: int, pairs: tuple[int, int]) -> bool:
    """Whether nothing is measured after this look, although nothing is shown."""
    if look == len(course.schedule) - 1:
        return True
    if course.futility is None:
        return False
    (wins, differing), share = pairs, Fraction(course.schedule[look], course.schedule[-1])
    supposed = share_found(int(differing / share), course.level, course.futility_power)
    return conditional_power(wins, differing, share, course.level, supposed) < course.futility


def _spread(masses: Sequence[float], trials: int, share: float) -> list[float]:
    """The masses of so many wins, after as many further trials."""
    found = list(masses)
    for _ in range(trials):
        lost = [mass * (1 - share) for mass in found]
        won = [mass * share for mass in found]
        found = [left + right for left, right in zip([*lost, 0.0], [0.0, *won], strict=True)]
    return found

"""The exact size of a policy, by asking it: every number of differing pairs, and every way in which they may fall.

If the arms are the same, each differing pair goes to either of them with a chance of 1/2, whatever the tasks are like.
So P(promote | n pairs differ) is a sum of binomial terms over the outcomes that the policy promotes, and its largest value
over n bounds the size for every suite. The policy itself is asked, through `decide`; nothing is taken from its parameters.
One that looks at the order of the pairs gives other answers when the wins come last: it can only be simulated, with coins.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from math import comb
from random import Random

from msgspec import Struct

from evolve.certify.arms import arm_of, outcome_row
from evolve.certify.worlds import evidence_of
from evolve.gate import Evidence, Policy, TaskEvidence


class Design(Struct, frozen=True, kw_only=True):
    """Tasks with as many repeats each; one of an agent that is deterministic."""

    tasks: int
    repeats: int
    deterministic: bool = False


class SizeAt(Struct, frozen=True):
    """The chance of a promotion, given that `differing` pairs differ and the arms are the same."""

    differing: int
    size: Fraction


def exact_sizes(policy: Policy, design: Design, most: int, *, wins_last: bool = False) -> Iterator[SizeAt]:
    """The size for each number of differing pairs; of a large design for `most` numbers, spread evenly."""
    for differing in counts_of(design, most):
        yield SizeAt(differing, _size(partial(_promotes, policy, design, differing, wins_last), differing))


def counts_of(design: Design, most: int) -> list[int]:
    """Numbers of differing pairs from none to all, at most about `most` of them."""
    pairs = design.tasks * design.repeats
    return sorted({*range(0, pairs + 1, max(1, -(-pairs // most))), pairs})


def tossed(design: Design, differing: int, random: Random) -> Evidence:
    """So many differing pairs at chance places, each given to an arm by a coin."""
    signs = [random.choice((1, -1)) for _ in range(differing)]
    signs += [0] * (design.tasks * design.repeats - differing)
    random.shuffle(signs)
    return _evidence(design, signs)


def _size(promotes: Callable[[int], bool], differing: int) -> Fraction:
    """The share of the 2ⁿ outcomes that are promoted, of a policy that more wins never turn against."""
    least = _least(promotes, differing)
    return Fraction(sum(comb(differing, wins) for wins in range(least, differing + 1)), 2**differing)


def _least(promotes: Callable[[int], bool], differing: int) -> int:
    low, high = 0, differing + 1
    while low < high:
        middle = (low + high) // 2
        if promotes(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _promotes(policy: Policy, design: Design, differing: int, wins_last: bool, wins: int) -> bool:
    signs = [1] * wins + [-1] * (differing - wins)
    signs = signs[::-1] if wins_last else signs
    signs += [0] * (design.tasks * design.repeats - differing)
    return policy.decide(_evidence(design, signs)).decision == "promote"


def _evidence(design: Design, signs: Sequence[int]) -> Evidence:
    """The signs are dealt out to the tasks in turn, repeat after repeat."""
    made = tuple(_task(task, signs[task :: design.tasks]) for task in range(design.tasks))
    return evidence_of(made, deterministic=design.deterministic)


def _task(task: int, signs: Sequence[int]) -> TaskEvidence:
    before = [outcome_row(repeat, resolved=sign <= 0) for repeat, sign in enumerate(signs)]
    now = [outcome_row(repeat, resolved=sign >= 0) for repeat, sign in enumerate(signs)]
    return TaskEvidence(
        task=f"t{task:04}",
        task_class="implementation",
        split="train",
        critical=False,
        incumbent=arm_of(before),
        candidate=arm_of(now),
    )

"""The exact size of a policy, by asking it: every number of differing pairs, and every way in which they may fall.

If the arms are the same, each differing pair goes to either of them with a chance of 1/2, whatever the tasks are like.
So P(promote | n pairs differ) is a sum of binomial terms over the outcomes that the policy promotes, and its largest value
over n bounds the size for every suite. The policy itself is asked, through `decide`; nothing is taken from its parameters.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from math import comb

from msgspec import Struct

from evolve.certify.arms import arm_of, outcome_row
from evolve.certify.worlds import evidence_of
from evolve.gate import Policy, TaskEvidence


class Design(Struct, frozen=True, kw_only=True):
    """Tasks with as many repeats each; one of an agent that is deterministic."""

    tasks: int
    repeats: int
    deterministic: bool = False


class SizeAt(Struct, frozen=True):
    """The chance of a promotion, given that `differing` pairs differ and the arms are the same."""

    differing: int
    size: Fraction


def exact_sizes(policy: Policy, design: Design, most: int) -> Iterator[SizeAt]:
    """The size for each number of differing pairs; of a large design for `most` numbers, spread evenly."""
    pairs = design.tasks * design.repeats
    step = max(1, -(-pairs // most))
    for differing in sorted({*range(0, pairs + 1, step), pairs}):
        yield SizeAt(differing, _size(partial(_promotes, policy, design, differing), differing))


def _size(promotes: Callable[[int], bool], differing: int) -> Fraction:
    """The share of the 2ⁿ outcomes that are promoted. All are asked where they are few; else the policy is taken to
    be monotone, as far as a bisection and the outcomes around its bound show.
    """
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


def _promotes(policy: Policy, design: Design, differing: int, wins: int) -> bool:
    made = tuple(_task(task, design, differing, wins) for task in range(design.tasks))
    return policy.decide(evidence_of(made, deterministic=design.deterministic)).decision == "promote"


def _task(task: int, design: Design, differing: int, wins: int) -> TaskEvidence:
    """Differing pairs are dealt out to the tasks in turn, those of the candidate first."""
    places = [repeat * design.tasks + task for repeat in range(design.repeats)]
    before = [
        outcome_row(repeat, resolved=place >= differing or place >= wins)
        for repeat, place in enumerate(places)
    ]
    now = [
        outcome_row(repeat, resolved=place >= differing or place < wins)
        for repeat, place in enumerate(places)
    ]
    return TaskEvidence(
        task=f"t{task:04}",
        task_class="implementation",
        split="train",
        critical=False,
        incumbent=arm_of(before),
        candidate=arm_of(now),
    )

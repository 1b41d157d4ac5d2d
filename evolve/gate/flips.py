"""The exact sign-flip test: all 2ⁿ ways of exchanging the two arms within pairs, counted, not sampled.

Source: Fisher 1935 (The Design of Experiments, §21). The counting is the shift algorithm of Pagano and Tritchler 1983
(JASA 78): the generating function ∏(1 + x^|d|), here as one integer whose slots of bits are its coefficients.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import gcd

SLOT_STEP = 8


def flip_test(differences: Sequence[int]) -> Fraction:
    """P(S ≥ sum of the differences) when each sign is a fair coin: the share of the 2ⁿ flips that do as well.

    Counted as their mirror images, P(S ≤ -sum), which have the fewer slots when the sum is large.
    """
    values = reduced(differences)
    slot = slot_bits(len(values))
    lost = -sum(value for value in values if value < 0)
    counts = 1
    for size in sorted(abs(value) for value in values):  # small ones first keep the number short
        counts = count_below(spread(counts, (size,), slot), lost + 1, slot)
    return Fraction(count_from(counts, 0, slot), 2 ** len(values))


def smallest_flip_level(pairs: int) -> Fraction:
    """The smallest p-value that so many pairs can reach: one flip of 2ⁿ."""
    return Fraction(1, 2**pairs)


def reduced(differences: Iterable[int]) -> list[int]:
    """The differences that are not zero, by their common divisor: the same test in fewer steps."""
    values = [value for value in differences if value]
    divisor = reduce(gcd, values, 0)
    return [value // divisor for value in values]


def slot_bits(pairs: int) -> int:
    """Bits of a slot that holds every count up to 2ⁿ, and the sum of all of them."""
    return (pairs // SLOT_STEP + 1) * SLOT_STEP + SLOT_STEP


def spread(counts: int, sizes: Iterable[int], slot: int) -> int:
    """Slot k counts the sets of positive signs that sum to k; each further size doubles the sets."""
    for size in sizes:
        counts += counts << (size * slot)
    return counts


def count_from(counts: int, least: int, slot: int) -> int:
    """The sum of all slots from `least` on, by folding the upper half onto the lower until one slot is left."""
    rest = counts >> (max(least, 0) * slot)
    slots = rest.bit_length() // slot + 1
    while slots > 1:
        slots = (slots + 1) // 2
        rest = (rest >> (slots * slot)) + (rest & ((1 << (slots * slot)) - 1))
    return rest


def count_below(counts: int, least: int, slot: int) -> int:
    """The slots below `least`, as they are."""
    return counts & ((1 << (max(least, 0) * slot)) - 1)

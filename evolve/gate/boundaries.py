"""Exact boundaries of a test that looks several times: one walk over all sign flips, cut off where it has crossed.

Source: Armitage, McPherson and Rowe 1969 (JRSS A 132) for the recursion; Lan and DeMets 1983 for what each look may spend.
Conditional on the sizes of the differences, every sequence of signs is equally likely under exchangeability; so the
boundary is computed from what was observed, and the level holds for every way in which pairs may differ.
"""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from evolve.gate.flips import count_below, count_from, reduced, slot_bits, spread
from evolve.gate.spending import spent_at


class Look(Struct, frozen=True, kw_only=True):
    """One look: pairs and differing pairs so far, the sum in favour that is needed and observed (both count the
    differences that are above zero), and the level spent so far. `needed` is None where nothing could cross.
    """

    pairs: int
    differing: int
    needed: int | None
    observed: int
    allowed: Fraction
    spent: Fraction

    @property
    def crossed(self) -> bool:
        """Whether the evidence at this look is enough."""
        return self.needed is not None and self.observed >= self.needed


def walk(blocks: Sequence[Sequence[int]], planned: int, level: Fraction) -> tuple[Look, ...]:
    """The looks after each block of differences, of which `planned` would be all."""
    scaled = _scaled(blocks)
    slot = slot_bits(sum(len(block) for block in scaled))
    looks: list[Look] = []
    counts, crossed, seen, differing, observed = 1, Fraction(0), 0, 0, 0
    for block, signs in zip(blocks, scaled, strict=True):
        seen += len(block)
        differing += len(signs)
        observed += sum(value for value in signs if value > 0)
        counts = spread(counts, [abs(value) for value in signs], slot)
        allowed = spent_at(level, Fraction(seen, planned))
        needed = _boundary(counts, slot, int((allowed - crossed) * 2**differing))
        if needed is not None:
            crossed += Fraction(count_from(counts, needed, slot), 2**differing)
            counts = count_below(counts, needed, slot)
        looks.append(
            Look(
                pairs=seen,
                differing=differing,
                needed=needed,
                observed=observed,
                allowed=allowed,
                spent=crossed,
            )
        )
    return tuple(looks)


def _scaled(blocks: Sequence[Sequence[int]]) -> list[list[int]]:
    """The differences of each block that are not zero, all by one common divisor."""
    flat = reduced(value for block in blocks for value in block)
    found, start = [], 0
    for block in blocks:
        count = sum(value != 0 for value in block)
        found.append(flat[start : start + count])
        start += count
    return found


def _boundary(counts: int, slot: int, most: int) -> int | None:
    """The smallest sum from which on at most `most` flips lie; None if even the largest has more."""
    if most < 1:
        return None
    top = counts.bit_length() // slot
    low, high = 0, top + 1
    while low < high:
        middle = (low + high) // 2
        if count_from(counts, middle, slot) <= most:
            high = middle
        else:
            low = middle + 1
    return low if low <= top else None

"""What a run promoted, read from its folder and made again from everything in it but the promotion itself."""

from evolve.promoted.champion import (
    START,
    champion_faults,
    derive_champion,
    freeze_start,
    remove_champion,
    write_champion,
)
from evolve.promoted.faults import expected_rows, generation_faults
from evolve.promoted.files import PromotedGeneration, read_generation, read_promotions
from evolve.promoted.rebuild import rebuild, without_row

__all__ = [
    "START",
    "PromotedGeneration",
    "champion_faults",
    "derive_champion",
    "expected_rows",
    "freeze_start",
    "generation_faults",
    "read_generation",
    "read_promotions",
    "rebuild",
    "remove_champion",
    "without_row",
    "write_champion",
]

"""A generation done again: what drifted since, and whether the same comes out; two of them side by side."""

from evolve.reproduce.command import diff_command, recipe_command, reproduce_command
from evolve.reproduce.model import Recipe, Reproduction, RunDifference

__all__ = [
    "Recipe",
    "Reproduction",
    "RunDifference",
    "diff_command",
    "recipe_command",
    "reproduce_command",
]

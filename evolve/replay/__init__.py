"""Verdicts asked again: replayed, explained, compared. Nothing is measured."""

from evolve.replay.compare import compare
from evolve.replay.influence import influences
from evolve.replay.model import Comparison, Difference, Influence, Replay
from evolve.replay.run import verdict_command

__all__ = ["Comparison", "Difference", "Influence", "Replay", "compare", "influences", "verdict_command"]

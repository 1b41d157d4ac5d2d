"""Proposers: the learnings queue, manual."""

from evolve.propose.learnings import LEARNINGS
from evolve.propose.manual import MANUAL
from evolve.propose.protocol import Proposal, Proposer, ProposerFactory, Remarking, Setting
from evolve.propose.start import create_proposer

__all__ = [
    "LEARNINGS",
    "MANUAL",
    "Proposal",
    "Proposer",
    "ProposerFactory",
    "Remarking",
    "Setting",
    "create_proposer",
]

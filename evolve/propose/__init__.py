"""Proposers: the learnings queue, manual, a coding agent."""

from evolve.propose.agent import AGENT
from evolve.propose.evidence import (
    EarlierVerdict,
    Evidence,
    Exhibit,
    Extent,
    RejectedProposal,
    Seen,
    SeenRow,
    select_rows,
)
from evolve.propose.learnings import LEARNINGS
from evolve.propose.manual import MANUAL
from evolve.propose.protocol import (
    Answer,
    Ask,
    Asking,
    Desk,
    Proposal,
    Proposer,
    ProposerFactory,
    Remarking,
    Setting,
)
from evolve.propose.queue import Learning, read_queue
from evolve.propose.start import create_proposer

__all__ = [
    "AGENT",
    "LEARNINGS",
    "MANUAL",
    "Answer",
    "Ask",
    "Asking",
    "Desk",
    "EarlierVerdict",
    "Evidence",
    "Exhibit",
    "Extent",
    "Learning",
    "Proposal",
    "Proposer",
    "ProposerFactory",
    "RejectedProposal",
    "Remarking",
    "Seen",
    "SeenRow",
    "Setting",
    "create_proposer",
    "read_queue",
    "select_rows",
]

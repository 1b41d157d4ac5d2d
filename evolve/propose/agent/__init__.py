"""The proposer `agent`: a coding agent reads bounded evidence and writes one overlay."""

from evolve.propose.agent.bundle import Bounds, Bundle, make_bundle
from evolve.propose.agent.proposer import AGENT, AgentProposer

__all__ = ["AGENT", "AgentProposer", "Bounds", "Bundle", "make_bundle"]

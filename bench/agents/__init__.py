"""How a coding agent is driven: rulebook, command."""

from bench.agents.protocol import (
    Agent,
    AgentFactory,
    SessionCommand,
    SessionReport,
    SessionRequest,
    SkillPlace,
    StreamParser,
    Usage,
)

__all__ = [
    "Agent",
    "AgentFactory",
    "SessionCommand",
    "SessionReport",
    "SessionRequest",
    "SkillPlace",
    "StreamParser",
    "Usage",
]

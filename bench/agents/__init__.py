"""How a coding agent is driven: rulebook, command, claude_code, codex."""

from bench.agents.claude_code import CLAUDE_CODE
from bench.agents.codex import CODEX
from bench.agents.command import COMMAND
from bench.agents.contract import ContractParser, session_input, sum_usage
from bench.agents.protocol import (
    Agent,
    AgentFactory,
    SessionCommand,
    SessionRequest,
    SkillPlace,
    StreamParser,
    ToolPlace,
)
from bench.agents.python import interpreter
from bench.agents.rulebook import RULEBOOK
from bench.agents.start import create_agent
from bench.measured import SessionReport, Usage

__all__ = [
    "CLAUDE_CODE",
    "CODEX",
    "COMMAND",
    "RULEBOOK",
    "Agent",
    "AgentFactory",
    "ContractParser",
    "SessionCommand",
    "SessionReport",
    "SessionRequest",
    "SkillPlace",
    "StreamParser",
    "ToolPlace",
    "Usage",
    "create_agent",
    "interpreter",
    "session_input",
    "sum_usage",
]

"""The agent `claude_code`: Claude Code, headless, behind the gateway."""

from bench.agents.claude_code.adapter import CLAUDE_CODE, ClaudeCode
from bench.agents.claude_code.stream import ClaudeStream

__all__ = ["CLAUDE_CODE", "ClaudeCode", "ClaudeStream"]

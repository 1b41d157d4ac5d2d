"""The agent `opencode`: opencode, headless, behind the gateway."""

from bench.agents.opencode.adapter import OPENCODE, OpenCode
from bench.agents.opencode.stream import OpenCodeStream

__all__ = ["OPENCODE", "OpenCode", "OpenCodeStream"]

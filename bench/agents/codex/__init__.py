"""The agent `codex`: OpenAI's Codex CLI, headless, behind the gateway."""

from bench.agents.codex.adapter import CODEX, Codex
from bench.agents.codex.stream import CodexStream

__all__ = ["CODEX", "Codex", "CodexStream"]

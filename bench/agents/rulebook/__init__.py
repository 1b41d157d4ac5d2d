"""The built-in agent: deterministic, no model; carries out the ast-grep rules that a skill holds."""

from bench.agents.rulebook.adapter import RULEBOOK, Rulebook

__all__ = ["RULEBOOK", "Rulebook"]

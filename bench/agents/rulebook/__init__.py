"""The built-in agent: deterministic, no model; carries out the ast-grep rules that a skill holds."""

from bench.agents.rulebook.adapter import RULEBOOK, Rulebook, find_ast_grep

__all__ = ["RULEBOOK", "Rulebook", "find_ast_grep"]

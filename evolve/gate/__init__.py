"""Policies, evidence, verdicts."""

__all__: list[str] = []

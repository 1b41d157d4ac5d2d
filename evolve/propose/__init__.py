"""Proposers: the learnings queue, manual."""

__all__: list[str] = []

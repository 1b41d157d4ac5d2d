"""Decides: rows in, verdicts out."""

__all__: list[str] = []

"""Plan, schedule, execute."""

from bench.sweep.model import Cell, Plan

__all__ = ["Cell", "Plan"]

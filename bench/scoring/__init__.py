"""Judges what a cell left: the visible check, the hidden oracle, a review's findings."""

from bench.scoring.model import ReviewScore

__all__ = ["ReviewScore"]

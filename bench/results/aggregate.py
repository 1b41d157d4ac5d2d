"""Rows of one task and arm, brought together. Pure."""

from msgspec import Struct


class Aggregate(Struct, frozen=True, kw_only=True):
    """One arm on one task. Medians over measured rows; a metric with any unknown value among them is None.

    `blocker_recall` is the minimum over repeats; `verdicts_right` a count; `clean_pass` all-of.
    """

    runs: int
    measured: int
    excluded: dict[str, int]
    resolved: int
    clean_control: bool | None
    weighted_f1: float | None
    false_positives: float | None
    blocker_recall: float | None
    verdicts_right: int | None
    clean_pass: bool | None
    cost_usd: float | None
    turns: float | None
    seconds: float | None

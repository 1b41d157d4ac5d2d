"""What can be compared between two arms: where a row says it, and in which whole numbers a pair differs."""

from collections.abc import Callable
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from bench.results import known_mean
from evolve.gate.model import ArmEvidence, RowEvidence
from evolve.gate.units import LOG_BOUND, LOG_UNITS, SCORE_UNITS, log_ratio, log_units, score_units

Kind = Literal["binary", "score", "ratio", "count"]
Reader = Callable[[RowEvidence], float | None]

COUNT_BOUND = 10  # a missing count is taken for one that differs by this much


class Endpoint(Struct, frozen=True, kw_only=True):
    """One number of a row. A difference is positive if the candidate did better."""

    name: str
    kind: Kind
    read: Reader

    @property
    def scale(self) -> int:
        """How many units of difference make 1 (a ratio: a factor of e)."""
        return {"binary": 1, "score": SCORE_UNITS, "ratio": LOG_UNITS, "count": 1}[self.kind]

    @property
    def bound(self) -> int:
        """No difference is counted for more than this."""
        return {"binary": 1, "score": SCORE_UNITS, "ratio": LOG_BOUND, "count": COUNT_BOUND}[self.kind]

    @property
    def unit(self) -> str:
        """What an effect is told in."""
        return {"binary": "points", "score": "points", "ratio": "percent", "count": "per cell"}[self.kind]

    def difference(self, before: float, now: float) -> int | None:
        """In units, within the bound; None where the two cannot be compared."""
        if self.kind == "ratio":
            return log_ratio(before, now)
        if self.kind == "score":
            return score_units(now) - score_units(before)
        change = int(before - now) if self.kind == "count" else int(now) - int(before)
        return max(-self.bound, min(self.bound, change))

    def limits(self, before: float | None, now: float | None) -> tuple[int, int]:
        """The worst and the best difference that a pair may have of which something is unknown."""
        if self.kind in {"ratio", "count"}:
            return -self.bound, self.bound
        worst = self.difference(1.0 if before is None else before, 0.0 if now is None else now)
        best = self.difference(0.0 if before is None else before, 1.0 if now is None else now)
        return worst or 0, best or 0

    def exact_units(self, share: Fraction) -> Fraction:
        """A margin or cap in units: a relative increase for a ratio, else an absolute difference."""
        return Fraction(log_units(share)) if self.kind == "ratio" else share * self.scale


def endpoint_named(name: str) -> Endpoint:
    """The endpoint of this name."""
    return ENDPOINTS[name]


def row_mean(arm: ArmEvidence | None, name: str) -> float | None:
    """The mean of a number over an arm's rows, exactly rounded; None if there is none or any is unknown."""
    return None if arm is None else known_mean([ENDPOINTS[name].read(row) for row in arm.rows])


def _score(metric: str) -> Reader:
    """A metric of the review's score; None without one."""

    def read(row: RowEvidence) -> float | None:
        value = None if row.score is None else getattr(row.score, metric)
        return None if value is None else float(value)

    return read


def _number(field: str) -> Reader:
    def read(row: RowEvidence) -> float | None:
        value = getattr(row, field)
        return None if value is None else float(value)

    return read


ENDPOINTS = {
    each.name: each
    for each in (
        Endpoint(name="resolved", kind="binary", read=_number("resolved")),
        Endpoint(name="verdict_right", kind="binary", read=_score("verdict_right")),
        Endpoint(name="weighted_f1", kind="score", read=_score("weighted_f1")),
        Endpoint(name="blocker_recall", kind="score", read=_score("blocker_recall")),
        Endpoint(name="false_positives", kind="count", read=_score("false_positives")),
        Endpoint(name="cost_usd", kind="ratio", read=_number("cost_usd")),
        Endpoint(name="seconds", kind="ratio", read=_number("seconds")),
        Endpoint(name="turns", kind="ratio", read=_number("turns")),
        Endpoint(name="output", kind="ratio", read=_number("output")),
    )
}

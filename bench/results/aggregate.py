"""Rows of one task and arm, brought together. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median
from typing import TypeVar

from msgspec import Struct

from bench.results.row import Row
from bench.scoring import ReviewScore

Value = TypeVar("Value")


class Aggregate(Struct, frozen=True, kw_only=True):
    """One arm on one task. Medians over measured rows; a metric with any unknown value among them is None.

    `skill_not_invoked` counts measured rows of that kind; `blocker_recall` is the minimum over repeats;
    `verdicts_right` a count; `clean_pass` all-of; `seconds` those of the sessions; `output` in tokens.
    """

    runs: int
    measured: int
    excluded: dict[str, int]
    resolved: int
    skill_not_invoked: int
    clean_control: bool | None
    weighted_f1: float | None
    false_positives: float | None
    blocker_recall: float | None
    verdicts_right: int | None
    clean_pass: bool | None
    cost_usd: float | None
    turns: float | None
    seconds: float | None
    output: float | None


def latest_attempts(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The last attempt of each cell, ordered by task, arm and repeat."""
    latest: dict[tuple[str, str, int], Row] = {}
    for row in rows:
        known = latest.get(row.key)
        if known is None or known.identity.attempt < row.identity.attempt:
            latest[row.key] = row
    return tuple(latest[key] for key in sorted(latest))


def by_cell(rows: Iterable[Row]) -> dict[tuple[str, str], tuple[Row, ...]]:
    """The last attempts by (task, arm), by repeat within each."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in latest_attempts(rows):
        groups.setdefault((row.identity.task, row.identity.arm), []).append(row)
    return {key: tuple(group) for key, group in groups.items()}


def aggregate(rows: Iterable[Row]) -> Aggregate:
    """The rows of one task and arm as one. The latest attempt of a cell counts; the others are no runs."""
    latest = latest_attempts(rows)
    measured = [row for row in latest if row.outcome.status == "measured"]
    excluded = Counter(str(row.outcome.kind) for row in latest if row.outcome.status != "measured")
    scores = [row.score for row in measured]
    return Aggregate(
        runs=len(latest),
        measured=len(measured),
        excluded=dict(sorted(excluded.items())),
        resolved=sum(row.outcome.resolved for row in measured),
        skill_not_invoked=sum(row.outcome.kind == "skill-not-invoked" for row in measured),
        clean_control=_all_of(_each(scores, lambda score: score.clean_control)),
        weighted_f1=known_median(_each(scores, lambda score: score.weighted_f1)),
        false_positives=known_median(_each(scores, lambda score: score.false_positives)),
        blocker_recall=_known_minimum(_each(scores, lambda score: score.blocker_recall)),
        verdicts_right=_known_count(_each(scores, lambda score: score.verdict_right)),
        clean_pass=_all_of(_each(scores, lambda score: score.clean_pass)),
        cost_usd=known_median([row.usage.cost_usd for row in measured]),
        turns=known_median([row.usage.turns for row in measured]),
        seconds=known_median([row.timings.sessions for row in measured]),
        output=known_median([row.usage.output for row in measured]),
    )


def known_median(values: Sequence[float | None]) -> float | None:
    """The median; None if there is no value or any is unknown."""
    known = _known(values)
    return float(median(known)) if known else None


def known_mean(values: Sequence[float | None]) -> float | None:
    """The mean, exactly rounded; None if there is no value or any is unknown."""
    known = _known(values)
    return fmean(known) if known else None


def _each(scores: Sequence[ReviewScore | None], metric: Callable[[ReviewScore], Value]) -> list[Value | None]:
    """A metric of every score; None where there is no score."""
    return [None if score is None else metric(score) for score in scores]


def _known(values: Sequence[Value | None]) -> list[Value]:
    """All the values, or none of them if one is unknown."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


def _known_minimum(values: Sequence[float | None]) -> float | None:
    known = _known(values)
    return float(min(known)) if known else None


def _known_count(values: Sequence[bool | None]) -> int | None:
    known = _known(values)
    return sum(known) if known else None


def _all_of(values: Sequence[bool | None]) -> bool | None:
    known = _known(values)
    return all(known) if known else None

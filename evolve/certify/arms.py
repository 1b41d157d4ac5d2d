"""Arms of an evidence from rows, for worlds that nobody measured. The aggregate is the one that a sweep would have."""

from collections.abc import Callable, Iterable, Sequence

from msgspec import structs

from bench.results import Aggregate, known_median
from bench.scoring import ReviewScore
from evolve.gate import ArmEvidence, RowEvidence


def arm_of(rows: Sequence[RowEvidence], planned: int | None = None) -> ArmEvidence:
    """The rows with their aggregate; `planned` cells of which the others could not be measured."""
    runs = len(rows) if planned is None else planned
    lost = runs - len(rows)
    aggregate = Aggregate(
        runs=runs,
        measured=len(rows),
        excluded={"session-error": lost} if lost else {},
        resolved=sum(row.resolved for row in rows),
        skill_not_invoked=0,
        clean_control=_all_of(rows, lambda score: score.clean_control),
        weighted_f1=known_median([row.score.weighted_f1 if row.score else None for row in rows]),
        false_positives=known_median([row.score.false_positives if row.score else None for row in rows]),
        blocker_recall=_least(row.score.blocker_recall if row.score else None for row in rows),
        verdicts_right=None
        if any(row.score is None for row in rows)
        else sum(row.score is not None and row.score.verdict_right for row in rows),
        clean_pass=_all_of(rows, lambda score: score.clean_pass),
        cost_usd=known_median([row.cost_usd for row in rows]),
        turns=known_median([row.turns for row in rows]),
        seconds=known_median([row.seconds for row in rows]),
        output=known_median([row.output for row in rows]),
    )
    return ArmEvidence(aggregate=aggregate, rows=tuple(rows))


def outcome_row(repeat: int, *, resolved: bool, cost: float = 1.0, fresh: bool = True) -> RowEvidence:
    """A row with an outcome, a review score that says the same, and a price that duration and turns follow."""
    score = ReviewScore(
        true_positives=int(resolved),
        false_positives=0,
        false_negatives=int(not resolved),
        precision=float(resolved),
        recall=float(resolved),
        f1=float(resolved),
        weighted_precision=float(resolved),
        weighted_recall=float(resolved),
        weighted_f1=float(resolved),
        blocker_recall=None,
        severity_accuracy=None,
        category_accuracy=None,
        verdict_right=resolved,
        clean_control=False,
        clean_pass=None,
    )
    return RowEvidence(
        row=f"{repeat}",
        repeat=repeat,
        fresh=fresh,
        resolved=resolved,
        skill_invoked=True,
        score=score,
        cost_usd=cost,
        turns=round(10 * cost),
        seconds=60 * cost,
        output=round(1000 * cost),
    )


def at_repeat(row: RowEvidence, repeat: int) -> RowEvidence:
    """The same row at another repeat."""
    return structs.replace(row, repeat=repeat)


def _all_of(rows: Sequence[RowEvidence], read: Callable[[ReviewScore], bool | None]) -> bool | None:
    values = [None if row.score is None else read(row.score) for row in rows]
    return None if not values or None in values else all(values)


def _least(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return min((value for value in known if value is not None), default=None) if None not in known else None

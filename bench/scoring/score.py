"""A review against its hidden labels: counts, ratios, weights, the verdict. Pure."""

from collections.abc import Sequence

from bench.scoring.matching import Pair, match
from bench.scoring.model import BLOCKING, Finding, Review, ReviewScore
from bench.suite import Label, Severity

WEIGHTS: dict[Severity, int] = {"critical": 8, "high": 5, "medium": 2, "low": 1}


def score_review(review: Review | None, labels: Sequence[Label]) -> ReviewScore:
    """The score of a review by research/gitnexus.md §8.4, ratios rounded to 6 decimals.

    None stands for an agent that ended without any review: it found nothing and passed nothing.
    """
    findings = review.findings if review else ()
    pairs = match(findings, labels)
    matched_ids = {finding.id for finding, _ in pairs}
    hits, found, wanted = len(pairs), len(findings), len(labels)
    weight = sum(min(WEIGHTS[finding.severity], WEIGHTS[label.severity]) for finding, label in pairs)
    false_weight = sum(WEIGHTS[each.severity] for each in findings if each.id not in matched_ids)
    label_weight = sum(WEIGHTS[label.severity] for label in labels)
    return ReviewScore(
        true_positives=hits,
        false_positives=found - hits,
        false_negatives=wanted - hits,
        precision=_ratio(hits, found),
        recall=_ratio(hits, wanted),
        f1=_harmonic(hits, found, wanted),
        weighted_precision=_ratio(weight, weight + false_weight),
        weighted_recall=_ratio(weight, label_weight),
        weighted_f1=_harmonic(weight, weight + false_weight, label_weight),
        blocker_recall=_blocker_recall(pairs, labels),
        severity_accuracy=_ratio(sum(claim.severity == label.severity for claim, label in pairs), hits),
        category_accuracy=_ratio(sum(claim.category == label.category for claim, label in pairs), hits),
        verdict_right=review is not None and review.verdict == right_verdict(labels),
        clean_control=not labels,
        clean_pass=_clean_pass(review, findings) if not labels else None,
    )


def right_verdict(labels: Sequence[Label]) -> str:
    """The verdict that a perfect review gives."""
    if not labels:
        return "approve"
    return "request_changes" if any(label.severity in BLOCKING for label in labels) else "comment"


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def _harmonic(hits: int, found: int, wanted: int) -> float | None:
    """Harmonic mean of hits/found and hits/wanted; 0 for a complete miss, None where nothing was wanted."""
    return _ratio(2 * hits, found + wanted) if wanted else None


def _blocker_recall(pairs: Sequence[Pair], labels: Sequence[Label]) -> float | None:
    """Share of the blocking labels that a finding met which is itself of a blocking severity."""
    met = sum(claim.severity in BLOCKING and label.severity in BLOCKING for claim, label in pairs)
    return _ratio(met, sum(label.severity in BLOCKING for label in labels))


def _clean_pass(review: Review | None, findings: Sequence[Finding]) -> bool:
    return review is not None and not findings and review.verdict == "approve"

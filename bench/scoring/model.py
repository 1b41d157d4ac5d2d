"""What scoring says of a review, as data."""

from msgspec import Struct


class ReviewScore(Struct, frozen=True, kw_only=True):
    """A review against its hidden labels; research/gitnexus.md §8.4 gives the formulas. None is undefined."""

    true_positives: int
    false_positives: int
    false_negatives: int
    precision: float | None
    recall: float | None
    f1: float | None
    weighted_precision: float | None
    weighted_recall: float | None
    weighted_f1: float | None
    blocker_recall: float | None
    severity_accuracy: float | None
    category_accuracy: float | None
    verdict_right: bool
    clean_control: bool
    clean_pass: bool | None

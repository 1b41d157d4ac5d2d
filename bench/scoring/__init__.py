"""Judges what a cell left: the visible check, the hidden oracle, a review's findings."""

from bench.scoring.matching import Pair, match
from bench.scoring.model import BLOCKING, LARGEST_REVIEW, MOST_FINDINGS, Finding, Review, ReviewScore
from bench.scoring.planting import is_test
from bench.scoring.review import read_review, short_path
from bench.scoring.schema import review_schema
from bench.scoring.score import WEIGHTS, right_verdict, score_review
from bench.scoring.tampering import Left, Signs, command_words, tampering
from bench.scoring.verify import CheckPlace, CheckResult, run_oracle, run_verify

__all__ = [
    "BLOCKING",
    "LARGEST_REVIEW",
    "MOST_FINDINGS",
    "WEIGHTS",
    "CheckPlace",
    "CheckResult",
    "Finding",
    "Left",
    "Pair",
    "Review",
    "ReviewScore",
    "Signs",
    "command_words",
    "is_test",
    "match",
    "read_review",
    "review_schema",
    "right_verdict",
    "run_oracle",
    "run_verify",
    "score_review",
    "short_path",
    "tampering",
]

"""A review as an agent writes it, and what scoring says of it, as data."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from bench.suite import Severity

LARGEST_REVIEW = 256 * 1024
MOST_FINDINGS = 100
LONGEST_NAME = 128
LONGEST_PATH = 512
LONGEST_TEXT = 4096
MOST_LINES = 50

BLOCKING: frozenset[Severity] = frozenset({"critical", "high"})

_Line = Annotated[int, Meta(ge=1, le=1_000_000_000, description="Line number in the changed file, from 1.")]


class Finding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One finding of a review. Lengths are limits in bytes of UTF-8."""

    id: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, description="Unique within the review.")]
    severity: Severity
    path: Annotated[
        str, Meta(min_length=1, max_length=LONGEST_PATH, description="Relative to the repository's root.")
    ]
    line: _Line
    end_line: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000_000,
            description="Line number in the changed file, from 1. A finding of more than 50 lines meets no label that "
            "is shorter than itself.",
        ),
    ]
    category: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=LONGEST_NAME,
            description="correctness, security, compatibility, performance, tests, other, or a word of your own.",
        ),
    ]
    scenario: Annotated[
        str, Meta(max_length=LONGEST_TEXT, pattern=r"\S", description="When it goes wrong, and how.")
    ]
    evidence: Annotated[str, Meta(max_length=LONGEST_TEXT, pattern=r"\S", description="What shows it.")]
    recommendation: Annotated[str, Meta(max_length=LONGEST_TEXT, pattern=r"\S", description="What to do.")]
    blocking: bool


class Review(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A review artifact. `approve` has no findings, `request_changes` at least one that is blocking."""

    schema_version: Literal[1]
    verdict: Literal["approve", "comment", "request_changes"]
    findings: Annotated[tuple[Finding, ...], Meta(max_length=MOST_FINDINGS)]


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

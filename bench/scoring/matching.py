"""Which finding of a review is which hidden label. Pure, and blind to the order of either."""

from collections.abc import Sequence
from typing import Any

from bench.scoring.model import MOST_LINES, Finding
from bench.scoring.review import short_path
from bench.suite import Label

Pair = tuple[Finding, Label]


def match(findings: Sequence[Finding], labels: Sequence[Label]) -> tuple[Pair, ...]:
    """As many pairs as possible, each finding and each label in one at most (research/gitnexus.md §8.3).

    A pair needs the same path and overlapping lines, and a finding that points at something: one of more than 50
    lines meets only a label as long as itself. The best-ranked pairs are taken first; augmenting paths
    then move them only where that makes one pair more.
    """
    claims, wanted = sorted(findings, key=_finding_order), sorted(labels, key=_label_order)
    ranked = sorted(
        (_rank(claim, label), row, column)
        for row, claim in enumerate(claims)
        for column, label in enumerate(wanted)
        if _may_pair(claim, label)
    )
    choices: dict[int, list[int]] = {}
    owners: dict[int, int] = {}
    for _, row, column in ranked:
        choices.setdefault(row, []).append(column)
        if column not in owners and row not in owners.values():
            owners[column] = row
    for row in sorted(choices):
        if row not in owners.values():
            _augment(row, choices, owners, set())
    return tuple((claims[row], wanted[column]) for column, row in sorted(owners.items()))


def _augment(row: int, choices: dict[int, list[int]], owners: dict[int, int], seen: set[int]) -> bool:
    """Find a label for `row`, moving the owners of others if need be; free labels are tried first."""
    for column in sorted(choices[row], key=lambda each: each in owners):
        if column in seen:
            continue
        seen.add(column)
        if column not in owners or _augment(owners[column], choices, owners, seen):
            owners[column] = row
            return True
    return False


def _may_pair(claim: Finding, label: Label) -> bool:
    same_file = short_path(claim.path) == short_path(label.path)
    points = _lines(claim.line, claim.end_line) <= max(MOST_LINES, _lines(label.line_start, label.line_end))
    return same_file and points and claim.line <= label.line_end and label.line_start <= claim.end_line


def _lines(first: int, last: int) -> int:
    return last - first + 1


def _rank(claim: Finding, label: Label) -> tuple[bool, bool, int, int]:
    """Smaller is better: same category, same severity, near the label's first line, a short label."""
    return (
        claim.category != label.category,
        claim.severity != label.severity,
        abs(claim.line - label.line_start),
        label.line_end - label.line_start,
    )


# What a score depends on comes first in these orders, names last: renaming ids or paths then cannot change
# which of two equally ranked pairs is taken in a way that a score could see.


def _finding_order(claim: Finding) -> tuple[Any, ...]:
    return (
        claim.line, claim.end_line, claim.severity, claim.category, claim.path,
        claim.blocking, claim.scenario, claim.evidence, claim.recommendation, claim.id,
    )  # fmt: skip


def _label_order(label: Label) -> tuple[Any, ...]:
    return (label.line_start, label.line_end, label.severity, label.category, label.path, label.id)

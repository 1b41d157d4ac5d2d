import random
from collections.abc import Sequence
from typing import TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_builders import SEVERITIES, finding, findings, label, labels, review

from bench.scoring import WEIGHTS, Finding, ReviewScore, score_review
from bench.suite import Label, Severity

Thing = TypeVar("Thing", Finding, Label)


def renamed(things: Sequence[Thing], names: Sequence[int]) -> list[Thing]:
    return [msgspec.structs.replace(each, id=f"{names[number]}") for number, each in enumerate(things)]


def moved(things: Sequence[Thing], paths: dict[str, str]) -> list[Thing]:
    return [msgspec.structs.replace(each, path=paths[each.path]) for each in things]


def test_the_formulas_on_a_case_worked_by_hand() -> None:
    found = [finding("a", severity="critical", line=1), finding("b", severity="low", line=99)]
    wanted = [label("x", severity="high", start=1), label("y", severity="medium", start=50)]
    assert score_review(review(*found), wanted) == ReviewScore(
        true_positives=1,
        false_positives=1,
        false_negatives=1,
        precision=0.5,
        recall=0.5,
        f1=0.5,
        weighted_precision=0.833333,  # 5 of 5 + 1
        weighted_recall=0.714286,  # 5 of 5 + 2
        weighted_f1=0.769231,  # 10 of 6 + 7
        blocker_recall=1.0,
        severity_accuracy=0.0,
        category_accuracy=1.0,
        verdict_right=True,
        clean_control=False,
        clean_pass=None,
    )


@given(labels(least=1))
def test_a_complete_miss_is_zero_and_never_unknown(wanted: list[Label]) -> None:
    for missed in (review(), review(finding(path="elsewhere.py")), None):
        score = score_review(missed, wanted)
        assert score.f1 == score.weighted_f1 == score.recall == score.weighted_recall == 0.0
        assert not score.verdict_right or missed is not None
    assert score_review(review(), wanted).precision is None
    assert score_review(None, wanted).verdict_right is False


@given(findings())
def test_a_clean_control_has_no_f1_and_passes_only_with_approval(found: list[Finding]) -> None:
    score = score_review(review(*found), [])
    assert score.f1 is score.weighted_f1 is score.recall is score.blocker_recall is None
    assert score.clean_control
    assert score.clean_pass == score.verdict_right == (not found)
    assert score_review(review(verdict="comment"), []).clean_pass is False
    assert score_review(None, []).clean_pass is False


@given(findings(), labels(), st.randoms(use_true_random=False))
def test_neither_order_nor_names_nor_places_of_files_change_a_score(
    found: list[Finding], wanted: list[Label], chance: random.Random
) -> None:
    expected = score_review(review(*found), wanted)
    names = chance.sample(range(100), 12)
    paths = {"a.py": "z.py", "b.py": "c.py"}
    other_findings = moved(renamed(chance.sample(found, len(found)), names[:6]), paths)
    other_labels = moved(renamed(chance.sample(wanted, len(wanted)), names[6:]), paths)
    assert score_review(review(*other_findings, verdict=review(*found).verdict), other_labels) == expected


@given(findings(), labels(least=1), st.sampled_from(SEVERITIES))
def test_a_false_positive_never_raises_precision_or_f1(
    found: list[Finding], wanted: list[Label], severity: Severity
) -> None:
    before = score_review(review(*found), wanted)
    after = score_review(review(*found, finding("wrong", path="elsewhere.py", severity=severity)), wanted)
    for name in ("precision", "weighted_precision"):
        assert getattr(before, name) is None or getattr(after, name) <= getattr(before, name)
    assert after.f1 <= before.f1
    assert after.weighted_f1 <= before.weighted_f1
    assert (after.recall, after.weighted_recall) == (before.recall, before.weighted_recall)


@given(st.sampled_from(SEVERITIES), st.sampled_from(SEVERITIES))
def test_over_claiming_a_severity_gains_no_weight_and_under_claiming_loses_it(
    claimed: Severity, true: Severity
) -> None:
    score = score_review(review(finding(severity=claimed)), [label(severity=true)])
    assert score.weighted_recall == round(min(1, WEIGHTS[claimed] / WEIGHTS[true]), 6)
    assert score.weighted_precision == 1.0


@given(findings(), labels(least=1))
def test_claiming_everything_critical_gains_at_most_the_labels_weight_and_pays_full_for_every_invention(
    found: list[Finding], wanted: list[Label]
) -> None:
    loud = [msgspec.structs.replace(each, severity="critical", blocking=True) for each in found]
    score = score_review(review(*loud), wanted)
    true_weight = sum(WEIGHTS[each.severity] for each in wanted)
    matched = (score.weighted_recall or 0.0) * true_weight
    assert matched <= true_weight
    if found:
        expected = matched / (matched + WEIGHTS["critical"] * score.false_positives)
        assert score.weighted_precision == pytest.approx(expected, abs=1e-5)


def test_downgrading_a_blocker_loses_its_recall() -> None:
    assert (
        score_review(review(finding(severity="medium")), [label(severity="critical")]).blocker_recall == 0.0
    )


def test_blocker_recall_is_unknown_without_a_blocking_label() -> None:
    assert score_review(review(finding(severity="low")), [label(severity="low")]).blocker_recall is None


@pytest.mark.parametrize(
    ("severities", "right"),
    [
        ((), "approve"),
        (("low", "high"), "request_changes"),
        (("critical",), "request_changes"),
        (("medium",), "comment"),
    ],
)
def test_the_right_verdict_follows_from_the_labels(severities: tuple[Severity, ...], right: str) -> None:
    wanted = [label(f"l{number}", severity=each) for number, each in enumerate(severities)]
    found = {"approve": (), "comment": (finding(severity="low"),), "request_changes": (finding(),)}
    for verdict, claims in found.items():
        assert score_review(review(*claims, verdict=verdict), wanted).verdict_right == (verdict == right)


@given(findings(), labels())
def test_counts_add_up_and_ratios_stay_within_their_range(found: list[Finding], wanted: list[Label]) -> None:
    score = score_review(review(*found), wanted)
    assert score.true_positives + score.false_positives == len(found)
    assert score.true_positives + score.false_negatives == len(wanted)
    ratios = [value for value in msgspec.structs.asdict(score).values() if isinstance(value, float)]
    assert all(0.0 <= ratio <= 1.0 and ratio == round(ratio, 6) for ratio in ratios)


def test_one_more_correct_finding_can_lower_weighted_f1() -> None:
    """Cardinality comes before weight (§8.3): the pinned reason why the gate is not monotone in reviews."""
    wanted = [label("x", severity="critical", start=10), label("y", severity="low", start=20)]
    broad = finding("broad", severity="critical", line=10, end_line=20)
    alone = score_review(review(broad), wanted)
    both = score_review(review(broad, finding("more", severity="low", line=10)), wanted)
    assert (alone.true_positives, both.true_positives) == (1, 2)
    assert (alone.weighted_f1, both.weighted_f1) == (0.941176, 0.363636)
    assert (alone.blocker_recall, both.blocker_recall) == (1.0, 0.0)

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from row_builders import make_row, score

from bench.results import Aggregate, Row, aggregate, by_cell, known_mean, known_median, latest_attempts
from bench.scoring import ReviewScore

KINDS = st.sampled_from(
    (None, "oracle-failed", "agent-timeout", "review-invalid", "session-error", "cancelled")
)


@st.composite
def rows(draw: st.DrawFn, most: int = 6) -> list[Row]:
    return [
        make_row(
            repeat=repeat,
            kind=draw(KINDS),
            scored=score(
                draw(st.sampled_from((0.0, 0.25, 0.5, 1.0))), false_positives=draw(st.integers(0, 3))
            ),
            cost=draw(st.sampled_from((None, 0.0, 0.5, 1.5))),
        )
        for repeat in range(draw(st.integers(1, most)))
    ]


def of(*scores: ReviewScore) -> Aggregate:
    return aggregate(make_row(repeat=repeat, scored=each) for repeat, each in enumerate(scores))


def test_medians_minimum_count_and_all_of() -> None:
    total = of(
        score(0.2, false_positives=0, blocker_recall=1.0, verdict_right=True),
        score(0.9, false_positives=4, blocker_recall=0.5, verdict_right=False),
        score(0.6, false_positives=1, blocker_recall=1.0, verdict_right=True),
    )
    assert (total.weighted_f1, total.false_positives, total.blocker_recall, total.verdicts_right) == (
        0.6,
        1.0,
        0.5,
        2,
    )
    assert (total.clean_control, total.clean_pass) == (False, None)


def test_a_clean_control_is_passed_only_if_every_repeat_passes() -> None:
    passed = of(score(clean=True), score(clean=True))
    failed = of(score(clean=True), score(clean=True, false_positives=1))
    assert (passed.clean_control, passed.clean_pass, failed.clean_pass) == (True, True, False)
    assert passed.weighted_f1 is None


@given(rows(), st.randoms(use_true_random=False))
def test_the_order_of_rows_never_matters(some: list[Row], chance: random.Random) -> None:
    assert aggregate(chance.sample(some, len(some))) == aggregate(some)


@given(rows())
def test_no_run_vanishes_every_one_is_measured_or_counted_by_kind(some: list[Row]) -> None:
    total = aggregate(some)
    assert total.runs == len(some) == total.measured + sum(total.excluded.values())
    assert total.resolved <= total.measured


@given(rows())
def test_a_metric_with_an_unknown_value_is_unknown_and_zero_is_no_unknown(some: list[Row]) -> None:
    costs = [row.usage.cost_usd for row in some if row.outcome.status == "measured"]
    total = aggregate(some)
    assert (total.cost_usd is None) == (not costs or None in costs)


def test_an_excluded_row_does_not_touch_any_number() -> None:
    alone = aggregate([make_row(scored=score(0.5))])
    both = aggregate([make_row(scored=score(0.5)), make_row(repeat=1, kind="session-error", cost=99.0)])
    assert (both.weighted_f1, both.cost_usd, both.measured) == (alone.weighted_f1, alone.cost_usd, 1)
    assert both.excluded == {"session-error": 1}


def test_a_measured_row_without_a_score_makes_the_scores_unknown() -> None:
    unscored = make_row(repeat=1, kind="agent-timeout")
    total = aggregate([make_row(), type(unscored)(**{**fields(unscored), "score": None})])
    assert total.measured == 2
    assert total.weighted_f1 is total.verdicts_right is total.clean_control is total.blocker_recall is None


def fields(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__struct_fields__}


def test_an_uninvoked_skill_counts_against_the_arm() -> None:
    """Lesson L11: leaving such rows out of the score alone turned a real loss into a gain."""
    total = aggregate([make_row(scored=score(0.9)), *(never_used(repeat) for repeat in (1, 2))])
    assert (total.weighted_f1, total.measured, total.excluded) == (0.0, 3, {})


def never_used(repeat: int) -> Row:
    return make_row(repeat=repeat, kind="skill-not-invoked", scored=score(0.0), invoked=False)


def test_cells_that_did_not_use_their_skill_are_counted_by_their_kind() -> None:
    """A cell that ran out of time before it came to its skill is no such cell."""
    late = make_row(kind="agent-timeout", invoked=False)
    assert aggregate([late, never_used(1), never_used(2)]).skill_not_invoked == 2


def test_output_tokens_are_a_median_and_unknown_if_one_is() -> None:
    some = [make_row(repeat=repeat, output=output) for repeat, output in enumerate((100, 500, 0))]
    assert aggregate(some).output == 100.0
    assert aggregate([*some, make_row(repeat=3)]).output is None


def test_only_the_latest_attempt_of_a_cell_counts() -> None:
    first, second = make_row(kind="session-error"), make_row(attempt=1, scored=score(0.75))
    for some in ((first, second), (second, first)):
        assert latest_attempts(some) == (second,)
        assert aggregate(some).weighted_f1 == 0.75
        assert aggregate(some).excluded == {}


def test_rows_are_grouped_by_task_and_arm_in_the_order_of_their_repeats() -> None:
    some = [
        make_row(task, arm, repeat)
        for repeat in (1, 0)
        for arm in ("review", "candidate_review")
        for task in "ba"
    ]
    groups = by_cell(some)
    assert list(groups) == [
        ("a", "candidate_review"),
        ("a", "review"),
        ("b", "candidate_review"),
        ("b", "review"),
    ]
    assert all([row.identity.repeat for row in group] == [0, 1] for group in groups.values())


@pytest.mark.parametrize(
    ("values", "expected"), [([], None), ([None], None), ([1, None], None), ([0], 0.0), ([1, 2], 1.5)]
)
def test_median_and_mean_of_known_values_only(values: list[float | None], expected: float | None) -> None:
    assert known_median(values) == known_mean(values) == expected

"""What a verdict says of rows that were not measured in its own sweep."""

import pytest
from evidence_builders import policy
from msgspec import structs
from row_builders import make_row, score

from bench.digest import canonical_json
from bench.results import Reused, Row
from evolve.gate import Evidence, collect_evidence, with_drift


def reused(row: Row) -> Row:
    return structs.replace(row, reuse=Reused("r", row.finished_at))


def evidence(*, incumbent_reused: bool) -> Evidence:
    rows = [
        row
        for repeat in range(3)
        for row in (
            (reused if incumbent_reused else lambda row: row)(make_row(repeat=repeat, scored=score(0.5))),
            make_row(arm="candidate_review", repeat=repeat, scored=score(0.9)),
        )
    ]
    return collect_evidence(
        rows,
        tasks=[("review-cart", "review-defect", "train", False)],
        pairs=[("review", "candidate_review")],
        model="m",
        deterministic=False,
        stopped=None,
        split="all",
    )


def test_the_evidence_says_of_each_row_whether_it_is_fresh() -> None:
    task = evidence(incumbent_reused=True).pairs[0].tasks[0]
    assert task.incumbent
    assert task.candidate
    assert [row.fresh for row in task.incumbent.rows] == [False] * 3
    assert [row.fresh for row in task.candidate.rows] == [True] * 3


def test_thresholds_use_reused_rows_and_say_so() -> None:
    verdict = policy().decide(evidence(incumbent_reused=True))
    assert verdict.decision == "promote"
    assert "note: 3 of the 6 rows compared were measured in an earlier sweep" in verdict.reasons


def test_reused_rows_of_a_class_that_drifted_are_insufficient_with_the_reason() -> None:
    verdict = policy().decide(with_drift(evidence(incumbent_reused=True), "9 got worse"))
    assert verdict.decision == "insufficient_evidence"
    assert "reused rows are not what would be measured now: 9 got worse" in verdict.reasons


def test_drift_does_not_touch_evidence_that_is_all_fresh() -> None:
    fresh = evidence(incumbent_reused=False)
    assert with_drift(fresh, "9 got worse") == fresh
    assert policy().decide(fresh).decision == "promote"


@pytest.mark.parametrize("incumbent_reused", [True, False])
def test_evidence_without_drift_is_written_as_it_was_before_there_was_any(incumbent_reused: bool) -> None:
    assert b"drift" not in canonical_json(evidence(incumbent_reused=incumbent_reused))

import random
from collections.abc import Iterable
from typing import Any

import pytest
from evidence_builders import policy
from hypothesis import given
from hypothesis import strategies as st
from row_builders import make_row, score

from bench.digest import canonical_json, digest_json
from bench.results import Row, aggregate
from evolve.gate import Evidence, collect_evidence, digest_rows

TASKS = (("a", "review-defect", "train", True), ("b", "review-clean", "holdout", False))
PAIRS = (("review", "candidate_review"),)
ROWS = tuple(
    make_row(
        task, arm, repeat, scored=score(clean=True) if task == "b" else score(0.75 if "cand" in arm else 0.5)
    )
    for task in "ab"
    for arm in ("review", "candidate_review", "no_skill")
    for repeat in range(3)
)


def collect(rows: Iterable[Row] = ROWS, **changes: Any) -> Evidence:
    fields = {
        "tasks": TASKS,
        "pairs": PAIRS,
        "model": "rulebook/1",
        "deterministic": False,
        "stopped": None,
        "split": "all",
    }
    return collect_evidence(rows, **(fields | changes))


def test_the_evidence_holds_both_arms_of_every_planned_task() -> None:
    found = collect().pairs[0]
    assert [(one.task, one.task_class, one.split, one.critical) for one in found.tasks] == list(TASKS)
    first = found.tasks[0].candidate
    assert first.aggregate == aggregate(row for row in ROWS if row.key[:2] == ("a", "candidate_review"))
    assert [(row.repeat, row.fresh, row.score.weighted_f1) for row in first.rows] == [
        (n, True, 0.75) for n in range(3)
    ]


def test_a_row_is_named_by_the_digest_of_its_content() -> None:
    assert collect().pairs[0].tasks[0].incumbent.rows[0].row == digest_json(ROWS[0])


@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_tasks_and_pairs_never_matters(chance: random.Random) -> None:
    pairs = (*PAIRS, ("review", "no_skill"))
    other = collect(
        chance.sample(ROWS, len(ROWS)), tasks=chance.sample(TASKS, 2), pairs=chance.sample(pairs, len(pairs))
    )
    assert canonical_json(other) == canonical_json(collect(pairs=pairs))
    assert digest_rows(chance.sample(ROWS, len(ROWS))) == digest_rows(ROWS)


def test_a_planned_task_without_rows_stays_in_sight() -> None:
    found = collect(tasks=(*TASKS, ("c", "review-defect", "train", False)))
    assert (found.pairs[0].tasks[2].incumbent, found.pairs[0].tasks[2].candidate) == (None, None)
    assert policy().decide(found).decision == "insufficient_evidence"


def test_rows_of_a_task_that_was_not_planned_do_not_vanish() -> None:
    with pytest.raises(ValueError, match="not planned"):
        collect(tasks=TASKS[:1])


def test_rows_of_two_generations_are_not_mixed() -> None:
    with pytest.raises(ValueError, match="generation"):
        collect((*ROWS, make_row("a", repeat=9, generation=2)))


def test_what_could_not_be_measured_is_counted_and_no_row_of_the_evidence() -> None:
    broken = make_row("a", "candidate_review", 3, kind="session-error")
    one = collect((*ROWS, broken)).pairs[0].tasks[0].candidate
    assert (one.aggregate.runs, one.aggregate.excluded, len(one.rows)) == (4, {"session-error": 1}, 3)


def test_only_the_latest_attempt_is_evidence() -> None:
    failed = make_row("a", "candidate_review", 3, kind="session-error")
    again = make_row("a", "candidate_review", 3, attempt=1, scored=score(0.75))
    one = collect((*ROWS, failed, again)).pairs[0].tasks[0].candidate
    assert (one.aggregate.runs, one.aggregate.excluded, len(one.rows)) == (4, {}, 4)


def test_from_rows_to_a_promotion() -> None:
    verdict = policy().decide(collect())
    assert verdict.decision == "promote"
    assert verdict.reasons == ("task a: weighted F1 0.500 → 0.750, better",)


def test_lesson_l11_an_uninvoked_candidate_is_no_better_for_it() -> None:
    """A real 0.9 beside two cells that never used the skill is a median of 0, and all three are counted."""
    rows = [row for row in ROWS if row.key[:2] != ("a", "candidate_review")]
    rows.append(make_row("a", "candidate_review", 0, scored=score(0.9)))
    rows += [
        make_row("a", "candidate_review", repeat, kind="skill-not-invoked", scored=score(0.0), invoked=False)
        for repeat in (1, 2)
    ]
    assert policy().decide(collect(rows)).decision == "keep_incumbent"

"""Drift is noticed, chance is not taken for it, and what drifted is never reused again."""

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from reuse_builders import PLAN, sound, wanted
from row_builders import make_row, score

from bench.results import Row, class_of, reuse_key
from bench.reuse import (
    ALPHA,
    DriftFile,
    DriftState,
    Limits,
    Pair,
    Wanted,
    all_retired,
    alpha_of,
    judge_drift,
    key_digest,
    latest_pool,
    retired_classes,
    select,
    sign_test,
    value_of,
    with_canaries,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
GOOD, BAD = make_row(kind=None, scored=score(1.0)), make_row(scored=score(0.2))


def named(row: Row, number: int) -> Row:
    return structs.replace(row, identity=structs.replace(row.identity, task=f"task-{number}"))


def judged(
    before: DriftState, *pairs: tuple[Row, Row], complete: bool = True, deterministic: bool = False
) -> DriftFile:
    return judge_drift(before, pairs, now=NOW, deterministic=deterministic, complete=complete)


def got_worse(count: int) -> list[tuple[Row, Row]]:
    return [(named(GOOD, number), named(BAD, number)) for number in range(count)]


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_sign_test_is_exact_and_does_not_know_a_direction(ups: int, downs: int) -> None:
    total = ups + downs
    extreme = max(ups, downs)
    both = sum(
        math.comb(total, count) for count in range(total + 1) if count >= extreme or count <= total - extreme
    )
    assert sign_test(ups, downs) == min(Fraction(1), Fraction(both, 2**total)) == sign_test(downs, ups)


def test_all_looks_together_spend_no_more_than_alpha() -> None:
    spent = sum((alpha_of(look) for look in range(1, 2000)), Fraction(0))
    assert ALPHA * Fraction(999, 1000) < spent <= ALPHA


def test_many_cells_that_got_worse_are_drift_and_retire_their_class_for_good() -> None:
    file = judged(DriftState(), *got_worse(20))
    assert file.found
    assert "20 got worse" in file.found
    assert file.after
    assert file.after.pool is None
    assert retired_classes(file.after) == {class_of(reuse_key(GOOD)): NOW}
    later = judged(file.after, (GOOD, GOOD))
    assert later.after
    assert later.after.retired == file.after.retired


def test_a_few_cells_that_got_worse_are_not_drift_yet_but_add_up_over_generations() -> None:
    state, looks = DriftState(), 0
    for first in itertools.count(0, 5):
        looks += 1
        pairs = [(named(GOOD, first + number), named(BAD, first + number)) for number in range(5)]
        file = judged(state, *pairs)
        if file.found:
            break
        state = file.state
    assert looks == 2, "0 of 10 with an even chance is p = .002"


def test_a_cell_is_compared_with_what_was_measured_of_it_first() -> None:
    worse = make_row(scored=score(0.2))
    first = judged(DriftState(), (GOOD, worse))
    second = judged(first.state, (worse, worse))  # the earlier row is the canary of before
    assert second.after
    assert second.after.pool
    (pair,) = second.after.pool.pairs.values()
    assert (pair.first, pair.latest, pair.look) == (1.0, 0.2, 2)


def test_canaries_of_another_class_begin_a_pool_of_their_own() -> None:
    first = judged(DriftState(), *got_worse(5))
    other = structs.replace(GOOD, provenance=structs.replace(GOOD.provenance, harness="another"))
    second = judged(first.state, (other, other))
    assert second.after
    assert second.after.pool
    assert (len(second.after.pool.pairs), second.after.pool.looks) == (1, 1)


def test_a_sweep_that_was_cut_short_keeps_its_pairs_but_takes_no_look() -> None:
    file = judged(DriftState(), *got_worse(20), complete=False)
    assert file.found is None
    assert file.after
    assert file.after.pool
    assert (file.after.pool.looks, len(file.after.pool.pairs)) == (0, 20)


def test_without_canaries_nothing_changes_and_no_look_is_spent() -> None:
    state = judged(DriftState(), *got_worse(3)).state
    assert judged(state).state == state


def test_one_differing_canary_of_a_deterministic_agent_is_drift() -> None:
    assert judged(DriftState(), (GOOD, GOOD), deterministic=True).found is None
    file = judged(DriftState(), (GOOD, GOOD), (named(GOOD, 1), named(BAD, 1)), deterministic=True)
    assert file.found
    assert "task-1/review/0 differs in outcome" in file.found


def test_time_is_no_difference_of_a_deterministic_agent() -> None:
    later = structs.replace(GOOD, finished_at=NOW, timings=structs.replace(GOOD.timings, sessions=99.0))
    assert judged(DriftState(), (GOOD, later), deterministic=True).found is None


@pytest.mark.parametrize(
    ("row", "value"),
    [
        (make_row(scored=score(0.3)), 0.3),
        (make_row(kind=None, scored=score(clean=True)), 1.0),
        (make_row(scored=score(clean=True, false_positives=2)), 0.0),
        (make_row(kind=None, hidden_command="x"), 1.0),
        (make_row(kind="verify-failed", hidden_command="x"), 0.0),
    ],
)
def test_what_is_compared_is_the_score_of_a_review_or_whether_the_cell_was_resolved(
    row: Row, value: float
) -> None:
    assert value_of(row) == value


def test_retirements_of_all_generations_count_once_each() -> None:
    state = judged(DriftState(), *got_worse(20)).state
    assert all_retired([state, DriftState(), state]) == state.retired


# --- campaigns, on synthetic rows through the real selection, canaries and test ---------------------------------

ARMS, TASKS, REPEATS, GENERATIONS, SHARE = 3, 24, 3, 10, 0.33


class Model:
    """A model behind one id: it solves each task with a chance of its own, and once worse, less by 20 points on average."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._chances = {
            (f"arm-{arm}", f"task-{task}"): self._random.betavariate(1, 1)
            for arm in range(ARMS)
            for task in range(TASKS)
        }
        mean = sum(self._chances.values()) / len(self._chances)
        self._left = 1 - 0.2 / mean
        self.worse = False

    def measure(self, arm: str, task: str, repeat: int, at: datetime) -> Row:
        chance = self._chances[arm, task] * (self._left if self.worse else 1)
        kind = None if self._random.random() < chance else "oracle-failed"
        row = make_row(task, arm, repeat, kind=kind, hidden_command="x")
        return structs.replace(row, started_at=at, finished_at=at)


def look_of(pool: Mapping[str, Pair], cell: Wanted) -> int:
    """Before which look a cell was measured again last."""
    known = pool.get(key_digest(cell.key or ()))
    return known.look if known else 0


def campaign(model: Model, seed: int, worse_from: int | None) -> Iterator[int]:
    """The generations in which drift is found."""
    keys = [(f"arm-{a}", f"task-{t}", r) for a in range(ARMS) for t in range(TASKS) for r in range(REPEATS)]
    at = NOW
    rows = {key: model.measure(*key, at) for key in keys}
    state = DriftState()
    for generation in range(1, GENERATIONS):
        at += timedelta(days=7)
        model.worse = worse_from is not None and generation >= worse_from
        limits = Limits(now=at, max_age_days=90, retired=retired_classes(state))
        cells = [wanted(rows[key]) for key in keys]
        pool = state.pool.pairs if state.pool else {}
        selection = with_canaries(
            cells,
            select(cells, rows.values(), PLAN, limits, sound),
            SHARE,
            f"{seed}/{generation}",
            partial(look_of, pool),
        )
        fresh = {
            key: model.measure(*key, at)
            for key, source in zip(keys, selection.sources, strict=True)
            if source.kind != "reused"
        }
        compared = [
            (rows[key], fresh[key])
            for key, source in zip(keys, selection.sources, strict=True)
            if source.kind == "canary"
        ]
        file = judge_drift(state, compared, now=at, deterministic=False, complete=True)
        rows, state = rows | fresh, file.state
        if file.found:
            yield generation


def found_within(worse_from: int, generations: int, seeds: range) -> float:
    """The share of campaigns in which drift is found in time."""
    found = 0
    for seed in seeds:
        first = next(
            (each for each in campaign(Model(seed), seed, worse_from) if each >= worse_from), GENERATIONS
        )
        found += first < worse_from + generations
    return found / len(seeds)


@pytest.mark.parametrize("worse_from", [1, 3, 5])
def test_twenty_points_less_are_found_within_three_generations(worse_from: int) -> None:
    assert found_within(worse_from, 3, range(20)) >= 0.85


def test_a_model_that_stays_the_same_raises_no_alarm() -> None:
    alarms = sum(any(True for _ in campaign(Model(seed), seed, None)) for seed in range(100))
    assert alarms <= 5


def test_after_drift_everything_is_measured_anew_and_the_next_drift_counts_from_there() -> None:
    found = list(campaign(Model(3), 3, 2))
    assert found
    assert all(each >= 2 for each in found)
    assert len(found) == 1, "the model got worse once"


CLASS = class_of(reuse_key(GOOD))


def pooled(before: DriftState, *pairs: tuple[Row, Row]) -> DriftState:
    after = judged(before, *pairs).after
    assert after is not None
    return after


def test_a_run_without_evidence_in_between_takes_nothing_from_the_pool() -> None:
    first = pooled(DriftState(), (GOOD, GOOD))
    second = pooled(first, (named(GOOD, 1), GOOD))
    for states in ((first, second, DriftState()), (DriftState(), second, first), (second, first)):
        assert latest_pool(states, CLASS) == second.pool


def test_what_was_pooled_before_a_retirement_is_evidence_of_nothing_later() -> None:
    before = pooled(DriftState(), *got_worse(3))
    found = pooled(before, *got_worse(20))
    assert found.retired
    assert latest_pool((before, found), CLASS) is None
    anew = pooled(found, (GOOD, GOOD))
    assert latest_pool((before, found, anew, DriftState()), CLASS) == anew.pool


def test_the_pool_of_another_class_is_no_evidence() -> None:
    state = pooled(DriftState(), (GOOD, GOOD))
    assert latest_pool((state,), ("other", *CLASS[1:])) is None

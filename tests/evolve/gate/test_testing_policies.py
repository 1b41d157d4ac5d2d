"""What `exact` and `anytime` promise, as properties of `Policy.decide`."""

import copy
import random
from typing import Any

import msgspec
import pytest
from evidence_builders import evidence, pair
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from testing_builders import RANKS, Table, options, outcomes, policy, search, tables, task, with_rows

from bench.digest import canonical_json
from bench.errors import ConfigError
from evolve.certify import World, draw
from evolve.gate import (
    ANYTIME,
    EXACT,
    CampaignState,
    Design,
    Evidence,
    Policy,
    TestingPolicy,
    Verdict,
    spends,
)
from evolve.gate.endpoints import ENDPOINTS

BOTH = pytest.mark.parametrize("name", ["exact", "anytime"])
thorough = settings(deadline=None, max_examples=60)
WIN, LOSS, BOTH_PASS, BOTH_FAIL = (False, True), (True, False), (True, True), (False, False)
CLEAR: Table = [[WIN, WIN, BOTH_PASS]] * 6
NULL: Table = [[WIN, LOSS, BOTH_PASS]] * 6


def rank(chosen: Policy, given_: Evidence) -> int:
    return RANKS[chosen.decide(given_).decision]


def reasons(verdict: Verdict) -> str:
    return "\n".join(verdict.reasons)


@BOTH
def test_a_clear_gain_promotes_and_none_does_not(name: str) -> None:
    assert search(name).decide(outcomes(CLEAR)).decision == "promote"
    assert search(name).decide(outcomes(NULL)).decision == "keep_incumbent"


@BOTH
@thorough
@given(table=tables(), place=st.tuples(st.integers(0, 7), st.integers(0, 3)))
def test_more_success_of_the_candidate_never_worsens_the_verdict(
    name: str, table: list[list[tuple[bool, bool]]], place: tuple[int, int]
) -> None:
    row = place[0] % len(table)
    column = place[1] % len(table[row])
    better = copy.deepcopy(table)
    better[row][column] = (table[row][column][0], True)
    assert rank(search(name), outcomes(better)) >= rank(search(name), outcomes(table))


@BOTH
@thorough
@given(table=tables(missing=True), seed=st.integers(0, 10**6))
def test_order_and_names_of_tasks_mean_nothing(name: str, table: Table, seed: int) -> None:
    first = search(name).decide(outcomes(table))
    names = [f"t{number}" for number in range(len(table))]
    random.Random(seed).shuffle(names)
    made = [task(new, rows) for new, rows in zip(names, table, strict=True)]
    random.Random(seed).shuffle(made)
    second = search(name).decide(evidence(pairs=(pair(*made, incumbent="incumbent", candidate="candidate"),)))
    assert first.decision == second.decision
    assert first.pairs[0].statistics == second.pairs[0].statistics


@BOTH
@thorough
@given(table=tables(missing=True))
def test_coverage_that_differs_between_the_arms_never_promotes(name: str, table: Table) -> None:
    assume(any(sum(a is None for a, _ in rows) != sum(b is None for _, b in rows) for rows in table))
    assert search(name).decide(outcomes(table)).decision != "promote"


@BOTH
def test_a_gain_that_is_clear_even_at_its_worst_needs_equal_coverage(name: str) -> None:
    def with_last(pair_: tuple[bool | None, bool | None]) -> Evidence:
        return outcomes([[WIN, WIN, BOTH_PASS]] * 11 + [[WIN, WIN, pair_]])

    verdict = search(name).decide(with_last((True, None)))
    assert verdict.decision == "insufficient_evidence"
    assert "do not cover the same; top up before it can promote: t11" in reasons(verdict)
    assert search(name).decide(with_last((None, None))).decision == "promote"


@BOTH
@thorough
@given(table=tables(missing=True))
def test_what_is_missing_is_judged_between_its_worst_and_its_best(name: str, table: Table) -> None:
    """A promotion holds with every gap at its worst, and a refusal with every gap at its best."""
    off = search(name, guards=dict.fromkeys(options()["guards"]))  # what was lost had a price, too
    decided = off.decide(outcomes(table)).decision
    worst = [[(a is not False, b is True) for a, b in rows] for rows in table]
    best = [[(a is True, b is not False) for a, b in rows] for rows in table]
    if decided == "promote":
        assert off.decide(outcomes(worst)).decision == "promote"
    if decided == "keep_incumbent":
        assert off.decide(outcomes(best)).decision == "keep_incumbent"


def test_the_cells_to_top_up_are_named() -> None:
    table = [list(rows) for rows in CLEAR]
    table[0][0] = table[1][0] = table[2][0] = table[3][0] = (None, None)
    verdict = policy(tier="search", search_alpha=0.004).decide(outcomes(table))
    assert verdict.decision == "insufficient_evidence"
    assert "top up: t0/candidate/0 (resolved, verdict_right, cost_usd, seconds)" in reasons(verdict)


@BOTH
def test_reused_rows_may_reject_and_never_promote(name: str) -> None:
    def reused(_: str, row: Any) -> Any:
        return msgspec.structs.replace(row, fresh=False)

    promoted = search(name).decide(with_rows(outcomes(CLEAR), "incumbent", reused))
    assert promoted.decision == "insufficient_evidence"
    assert "measure afresh (reuse=none): t0/0, t0/1" in reasons(promoted)
    assert search(name).decide(with_rows(outcomes(NULL), "incumbent", reused)).decision == "keep_incumbent"


def test_fresh_pairs_decide_alone_where_they_are_complete() -> None:
    """Reused pairs of repeat 0 speak for the candidate; the fresh ones say nothing."""
    table = [[WIN, BOTH_PASS, BOTH_FAIL]] * 8

    def reused(_: str, row: Any) -> Any:
        return msgspec.structs.replace(row, fresh=row.repeat != 0)

    verdict = search().decide(with_rows(outcomes(table), "incumbent", reused))
    assert verdict.decision == "keep_incumbent"
    assert verdict.pairs[0].statistics.pairs == 16


@BOTH
def test_zero_variance_never_promotes_and_is_not_called_equality(name: str) -> None:
    for kind in (BOTH_PASS, BOTH_FAIL):
        verdict = search(name).decide(outcomes([[kind] * 5] * 20))
        assert verdict.decision == "keep_incumbent"
        assert "indeterminate" in reasons(verdict)
        assert "no effect" not in reasons(verdict)
    few = search(name).decide(outcomes([[WIN, WIN]] * 2))  # the same difference everywhere, of width zero
    assert few.decision == "keep_incumbent"


@BOTH
def test_one_repeat_and_no_model_are_insufficient_with_both_reasons(name: str) -> None:
    verdict = search(name).decide(outcomes([[WIN]] * 20, model=None))
    assert verdict.decision == "insufficient_evidence"
    assert "no model is named" in reasons(verdict)
    assert "fewer than 2 pairs" in reasons(verdict)


def test_repeats_of_a_deterministic_agent_count_once() -> None:
    once, thrice = outcomes([[WIN]] * 4, deterministic=True), outcomes([[WIN] * 3] * 4, deterministic=True)
    first, second = search().decide(once), search().decide(thrice)
    assert first.decision == second.decision == "keep_incumbent"
    assert second.pairs[0].statistics.pairs == 4


@BOTH
def test_a_release_without_its_campaign_is_refused_and_spends_less_with_each_test(name: str) -> None:
    bare = msgspec.structs.replace(outcomes(CLEAR), campaign=msgspec.UNSET)
    assert "campaign" in reasons(policy(name).decide(bare))
    assert policy(name).decide(bare).decision == "insufficient_evidence"

    def level(number: int) -> float:
        state = CampaignState(name="c", release_test=number, head="0" * 64)
        given_ = msgspec.structs.replace(outcomes(CLEAR), campaign=state)
        return policy(name).decide(given_).pairs[0].statistics.level

    assert level(1) == pytest.approx(0.05 * 6 / 3.14159265**2, abs=1e-6)
    assert level(3) == pytest.approx(level(1) / 9, abs=1e-9)


def test_only_release_tests_of_testing_policies_are_charged() -> None:
    assert spends(policy())
    assert not spends(search())


def test_a_guard_breaks_on_evidence_of_harm_and_not_on_noise() -> None:
    def dearer(factor: float) -> Evidence:
        return with_rows(
            outcomes([[WIN, WIN, BOTH_PASS, BOTH_PASS, BOTH_PASS]] * 8),
            "candidate",
            lambda _, row: msgspec.structs.replace(row, cost_usd=row.cost_usd * factor),
        )

    assert search().decide(dearer(1.15)).decision == "promote"
    verdict = search().decide(dearer(2.0))
    assert verdict.decision == "keep_incumbent"
    assert "guard cost_usd: evidence of harm on the suite" in reasons(verdict)
    assert "guard cost_usd: the median task is worse than the cap" in reasons(verdict)


def test_a_critical_task_that_is_lost_breaks_its_guard() -> None:
    made = outcomes([[WIN] * 8] * 6 + [[LOSS] * 8])
    (one,) = made.pairs
    tasks = tuple(msgspec.structs.replace(each, critical=each.task == "t6") for each in one.tasks)
    critical = msgspec.structs.replace(made, pairs=(msgspec.structs.replace(one, tasks=tasks),))
    assert search().decide(made).decision == "promote"
    verdict = search().decide(critical)
    assert verdict.decision == "keep_incumbent"
    assert "guard resolution: evidence of harm on t6" in reasons(verdict)


@BOTH
def test_a_task_that_neither_arm_resolves_does_not_veto(name: str) -> None:
    hard = [[BOTH_FAIL] * 3]
    assert search(name).decide(outcomes([*CLEAR, *hard])).decision == "promote"


@BOTH
def test_an_incomplete_sweep_is_insufficient_whatever_it_shows(name: str) -> None:
    assert search(name).decide(outcomes(CLEAR, stopped="deadline")).decision == "insufficient_evidence"


@BOTH
@pytest.mark.parametrize("left", [None, "incumbent", "candidate"])
def test_a_sweep_that_was_stopped_before_any_pair_was_measured_is_insufficient(
    name: str, left: str | None
) -> None:
    made = outcomes(CLEAR, stopped="cancelled")
    (only,) = made.pairs
    gone: dict[str, Any] = {arm: None for arm in ("incumbent", "candidate") if arm != left}
    for spared in (0, 1):  # one task may have begun
        tasks = tuple(
            each if number < spared else msgspec.structs.replace(each, **gone)
            for number, each in enumerate(only.tasks)
        )
        early = msgspec.structs.replace(made, pairs=(msgspec.structs.replace(only, tasks=tasks),))
        for deterministic in (False, True):
            evidence_ = msgspec.structs.replace(early, deterministic=deterministic)
            assert search(name).decide(evidence_).decision == "insufficient_evidence"


def test_a_cost_that_nobody_knows_is_no_zero() -> None:
    unknown = with_rows(
        outcomes(CLEAR), "candidate", lambda _, row: msgspec.structs.replace(row, cost_usd=None)
    )
    verdict = search().decide(unknown)
    assert verdict.decision == "insufficient_evidence"
    assert "(cost_usd)" in reasons(verdict)
    free = search(guards=options()["guards"] | {"cost_usd": None})
    assert free.decide(unknown).decision == "promote"


@pytest.mark.parametrize("calls_model", [True, False])
def test_a_price_that_no_row_knows_is_insufficient_unless_no_model_is_called(calls_model: bool) -> None:
    def unpriced(_: str, row: Any) -> Any:
        return msgspec.structs.replace(row, cost_usd=None)

    made = with_rows(with_rows(outcomes(CLEAR), "candidate", unpriced), "incumbent", unpriced)
    verdict = search().decide(msgspec.structs.replace(made, calls_model=calls_model))
    assert verdict.decision == ("insufficient_evidence" if calls_model else "promote")
    said = (
        "no row of either arm knows its price" if calls_model else "guards nothing: this agent calls no model"
    )
    assert said in reasons(verdict)
    off = search(guards=options()["guards"] | {"cost_usd": None}).decide(made)
    assert off.decision == "promote"


@BOTH
def test_drift_is_insufficient_whatever_the_fresh_pairs_show(name: str) -> None:
    verdict = search(name).decide(outcomes(CLEAR, drift="9 got worse"))
    assert verdict.decision == "insufficient_evidence"
    assert "reused rows are not what would be measured now: 9 got worse" in reasons(verdict)


@BOTH
def test_a_skill_that_was_hardly_used_is_not_promoted(name: str) -> None:
    def used_on(tasks: int) -> Evidence:
        def use(task_: str, row: Any) -> Any:
            return msgspec.structs.replace(row, skill_invoked=int(task_[1:]) < tasks)

        return with_rows(outcomes(CLEAR), "candidate", use)

    assert search(name).pairs_repeats
    assert search(name).decide(used_on(3)).decision == "promote"
    verdict = search(name).decide(used_on(2))
    assert verdict.decision == "keep_incumbent"
    assert "the candidate used its skill in 6 of 18 measured cells" in reasons(verdict)


def test_scores_are_tested_by_task_and_costs_by_pair() -> None:
    def scored(_: str, row: Any) -> Any:
        return msgspec.structs.replace(row, score=msgspec.structs.replace(row.score, weighted_f1=0.9))

    def cheap(_: str, row: Any) -> Any:
        return msgspec.structs.replace(row, cost_usd=row.cost_usd * 0.8)

    flat = outcomes([[BOTH_FAIL] * 3] * 6)
    by_task = search(endpoint="weighted_f1").decide(with_rows(flat, "candidate", scored))
    assert by_task.pairs[0].statistics.p == pytest.approx(1 / 2**6)
    by_pair = search(endpoint="cost_usd").decide(with_rows(flat, "candidate", cheap))
    assert by_pair.pairs[0].statistics.p == pytest.approx(1 / 2**18)
    assert by_pair.pairs[0].statistics.effect == pytest.approx(20, abs=0.1)


def test_underpowered_is_never_worded_as_no_effect() -> None:
    verdict = search().decide(outcomes([[WIN, BOTH_PASS], [BOTH_PASS, BOTH_FAIL], [LOSS, BOTH_PASS]]))
    assert "underpowered: an effect of 10 points would be found" in reasons(verdict)
    assert "3 more pairs must differ" in reasons(verdict)
    assert not any(
        word in reasons(verdict).lower() for word in ("no effect", "no difference", "equally good.")
    )


@BOTH
@settings(deadline=None, max_examples=40)
@given(tasks=st.integers(1, 8), repeats=st.integers(1, 3), level=st.sampled_from((0.2, 0.05, 0.01)))
def test_a_design_is_exploratory_if_and_only_if_even_the_best_outcome_cannot_promote(
    name: str, tasks: int, repeats: int, level: float
) -> None:
    chosen = policy(name, tier="search", search_alpha=level)
    assert isinstance(chosen, TestingPolicy)
    reach = chosen.reaches(Design(tasks=tasks, repeats=repeats))
    decision = chosen.decide(outcomes([[WIN] * repeats] * tasks)).decision
    assert (decision != "promote") == reach.exploratory
    assert ("exploratory" in chosen.detects(tasks, repeats)) == reach.exploratory


def test_an_early_look_spends_part_and_may_call_the_rest_futile() -> None:
    looked = msgspec.structs.replace(outcomes([[LOSS]] * 20), looks=(1, 3, 5))
    verdict = search(min_runs=2).decide(looked)
    assert "look 1 of 3, spent" in reasons(verdict)
    assert "futile" in reasons(verdict)
    early = msgspec.structs.replace(outcomes([[WIN, WIN]] * 10), looks=(1, 2, 5))
    found = search().decide(early)
    assert found.decision == "promote"
    assert 0 < found.pairs[0].statistics.spent < found.pairs[0].statistics.level


@BOTH
def test_a_repeated_verdict_has_the_same_bytes(name: str) -> None:
    sweep = draw(World(tasks=12, repeats=4, effect=0.1), random.Random(3))
    first, second = (
        policy(name).decide(sweep),
        policy(name).decide(msgspec.convert(msgspec.to_builtins(sweep), Evidence)),
    )
    assert canonical_json(first) == canonical_json(second)


@BOTH
def test_every_option_is_read(name: str) -> None:
    factory = {"exact": EXACT, "anytime": ANYTIME}[name]
    chosen = options(name)
    assert chosen.pop("looks") == 1, "the only one with a default: verdicts of before have none"
    assert factory.create(chosen).decide(outcomes(NULL)).parameters == chosen
    for path in _paths(chosen):
        without = copy.deepcopy(chosen)
        _remove(without, path)
        with pytest.raises(ConfigError, match=f"`{path[-1]}`"):
            factory.create(without)
    with pytest.raises(ConfigError):
        factory.create(chosen | {"surprise": 1})


CHANGES = {
    ("endpoint",): "cost_usd", ("tier",): "search", ("alpha",): 0.001, ("alpha_guard",): 0.9, ("target",): 0.3,
    ("min_runs",): 9, ("guards", "cost_usd", "margin"): 0.0, ("guards", "cost_usd", "cap"): 0.0,
    ("guards", "seconds", "margin"): 0.0, ("guards", "seconds", "cap"): 0.0,
    ("guards", "resolution", "margin"): 0.0,
}  # fmt: skip


@pytest.mark.parametrize("path", CHANGES, ids=".".join)
def test_an_option_that_changes_changes_some_verdict(path: tuple[str, ...]) -> None:
    changed = copy.deepcopy(options())
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = CHANGES[path]
    before, after = policy(), EXACT.create(changed)
    sweeps = [
        draw(World(tasks=8, repeats=8, effect=effect, saving=-0.3), random.Random(seed))
        for seed in range(4)
        for effect in (-0.2, 0.3)
    ]
    assert any(before.decide(each).reasons != after.decide(each).reasons for each in sweeps)


def _paths(values: dict[str, Any], prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for key, value in values.items():
        found.append((*prefix, key))
        if isinstance(value, dict):
            found += _paths(value, (*prefix, key))
    return found


def _remove(values: dict[str, Any], path: tuple[str, ...]) -> None:
    for key in path[:-1]:
        values = values[key]
    del values[path[-1]]


@pytest.mark.parametrize(
    ("before", "now", "worst", "best"),
    [(None, None, -1, 1), (None, 1.0, 0, 1), (None, 0.0, -1, 0), (1.0, None, -1, 0), (0.0, None, 0, 1)],
)
def test_an_unknown_outcome_may_be_either(
    before: float | None, now: float | None, worst: int, best: int
) -> None:
    assert ENDPOINTS["resolved"].limits(before, now) == (worst, best)
    units = ENDPOINTS["weighted_f1"].limits(before, now)
    assert units == (10_000 * worst, 10_000 * best)
    assert ENDPOINTS["cost_usd"].limits(before, now) == (-4000, 4000)

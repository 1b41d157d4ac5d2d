from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from evidence_builders import evidence, pair
from row_builders import make_row
from work_builders import OPTIONS, cheaper, equal, failed, job, policy, work

from bench.config import PromotionConfig
from bench.errors import ConfigError
from bench.results import Row
from evolve.gate import THRESHOLD_COST, TaskEvidence, Verdict, collect_evidence, load_policy

CONF = Path(__file__).parents[3] / "conf" / "promotion" / "threshold_cost.yaml"


def decide(*tasks: TaskEvidence, options: dict[str, Any] | None = None, **changes: Any) -> Verdict:
    return policy(**(options or {})).decide(evidence(*tasks, **changes))


def reasons(verdict: Verdict) -> str:
    return "\n".join(verdict.reasons)


# The rules, one by one ------------------------------------------------------------------------------------


def test_a_median_saving_and_nothing_worse_promotes_and_says_so() -> None:
    verdict = decide(cheaper("a"), cheaper("b"), equal())
    assert verdict.decision == "promote"
    assert verdict.reasons == ("median change of cost_usd (tasks: 3): -10 %, better",)
    assert {each.task: each.effect for each in verdict.pairs[0].tasks} == {
        "a": "better",
        "b": "better",
        "equal": "same",
    }
    assert verdict.pairs[0].median_change == -10.0


def test_two_more_resolved_cells_promote_without_any_saving() -> None:
    gain = job("gain", work(10.0, 0), work(10.0, 2))
    verdict = decide(gain, equal())
    assert verdict.decision == "promote"
    assert verdict.reasons == (
        "resolved cells over all tasks: +2, better",
        "median change of cost_usd (tasks: 2): +0 %, no saving of 5 % or more",
    )


def test_one_more_resolved_cell_is_noise_and_the_saving_decides() -> None:
    """Lesson L24."""
    gain = job("gain", work(10.0, 0), work(10.0, 1))
    verdict = decide(gain, equal())
    assert verdict.decision == "keep_incumbent"
    assert "resolved cells over all tasks: +1, within the noise: +2 is needed" in reasons(verdict)
    assert decide(gain, cheaper("a"), cheaper("b")).decision == "promote"


KEEP = {
    "nothing cheaper": ([equal()], "median change of cost_usd (tasks: 1): +0 %, no saving of 5 % or more"),
    "too little": ([job("t", work(10.0), work(9.51))], "(tasks: 1): -4.9 %, no saving"),
    "resolves less": ([cheaper(), job("t", work(), work(resolved=2))], "task t: resolved cells 3 of 3 → 2 of 3, worse"),
    "below the floor": ([cheaper(), job("t", work(resolved=1), work(resolved=2))], "task t: the candidate resolves 2 of 3 cells of a task that the incumbent can resolve"),
    "skill not used": ([cheaper(), job("t", work(resolved=0, unused=1), work(resolved=0))], "task t: the candidate resolves 0 of 3 cells of a task where a skill was not used"),
    "one task too dear": ([cheaper("a"), cheaper("b"), job("t", work(10.0), work(12.01))], "task t: cost_usd 10 → 12.01 (+20.1 %), more than 20 % worse"),
    "failing too dear": ([cheaper("a"), cheaper("b"), failed(cost=20.02)], "task hard: cost_usd 10 → 20.02 (+100.2 %), more than 100 % worse"),
    "a gain that is too dear": ([job("t", work(10.0, 0), work(12.5)), equal()], "(+25 %), more than 20 % worse"),
}  # fmt: skip


@pytest.mark.parametrize(("tasks", "reason"), KEEP.values(), ids=KEEP.keys())
def test_whatever_is_worse_or_not_better_keeps_the_incumbent_and_says_so(
    tasks: Sequence[TaskEvidence], reason: str
) -> None:
    verdict = decide(*tasks)
    assert verdict.decision == "keep_incumbent"
    assert reason in reasons(verdict)


INSUFFICIENT = {
    "missing candidate": ([cheaper(), job("t", work(), None)], "task t: nothing was measured of the candidate"),
    "missing both": ([cheaper(), job("t", None, None)], "task t: nothing was measured of the incumbent and the candidate"),
    "too few runs": ([cheaper(), job("t", work(measured=2), work(measured=2))], "task t: measured cells of the incumbent: 2, needed: 3"),
    "unequal runs": ([cheaper(), job("t", work(measured=4), work())], "4 of the incumbent, 3 of the candidate"),
    "excluded incumbent": ([cheaper(), job("t", work(excluded={"infra-error": 1}), work())], "of the incumbent could not be measured: 1 infra-error"),
    "excluded candidate": ([cheaper(), job("t", work(), work(excluded={"skill-changed": 2}))], "of the candidate could not be measured: 2 skill-changed"),
    "excluded where both fail": ([cheaper(), job("t", work(resolved=0, excluded={"infra-error": 1}), work(resolved=0))], "1 infra-error"),
    "unknown": ([cheaper(), job("t", work(), work(None))], "task t: not known: cost_usd of the candidate"),
    "unknown where both fail": ([cheaper(), failed(cost=None)], "task hard: not known: cost_usd of the candidate"),
    "zero incumbent": ([cheaper(), job("t", work(0.0), work())], "task t: cost_usd of the incumbent is zero: rank on a metric with signal"),
    "zero candidate": ([cheaper(), job("t", work(), work(0.0))], "task t: cost_usd of the candidate is zero"),
    "zero where both fail": ([cheaper(), failed(cost=0.0)], "task hard: cost_usd of the candidate is zero"),
    "beyond all numbers": ([cheaper(), job("t", work(5e-324), work(1e15))], "cost_usd of the two arms cannot be compared"),
    "none resolved": ([failed("a", 5.0), failed("b", 5.0)], "no task decides anything"),
    "few resolved": ([cheaper(), failed("a"), failed("b")], "tasks that decide: 1 of 3, needed: 50 %"),
    "no task": ([], "no task of split all was planned"),
}  # fmt: skip


@pytest.mark.parametrize(("tasks", "reason"), INSUFFICIENT.values(), ids=INSUFFICIENT.keys())
def test_whatever_is_missing_is_insufficient_and_says_so(tasks: Sequence[TaskEvidence], reason: str) -> None:
    verdict = decide(*tasks)
    assert verdict.decision == "insufficient_evidence"
    assert reason in reasons(verdict)


def test_insufficient_beats_keep_beats_promote_and_every_reason_is_given() -> None:
    dear, missing = job("dear", work(10.0), work(13.0)), job("missing", work(), None)
    assert decide(cheaper(), dear).decision == "keep_incumbent"
    verdict = decide(cheaper(), dear, missing)
    assert verdict.decision == "insufficient_evidence"
    assert len(verdict.reasons) == 2


def test_limits_are_inclusive_and_compared_after_rounding_to_one_decimal() -> None:
    assert decide(cheaper("a"), cheaper("b"), job("t", work(10.0), work(12.0))).decision == "promote"
    assert decide(cheaper("a"), cheaper("b"), job("t", work(10.0), work(12.004))).decision == "promote"
    assert decide(cheaper("a"), cheaper("b"), job("t", work(10.0), work(12.006))).decision == "keep_incumbent"
    assert decide(cheaper("a"), cheaper("b"), failed(cost=20.0)).decision == "promote"
    assert decide(job("t", work(10.0), work(9.5))).decision == "promote"
    assert decide(job("t", work(10.0), work(9.504))).decision == "promote"
    assert decide(job("t", work(10.0), work(9.506))).decision == "keep_incumbent"
    assert decide(cheaper(), failed()).decision == "promote"


def test_every_pair_must_promote() -> None:
    """Lesson L16."""
    good, bad = pair(cheaper(), candidate="a"), pair(equal(), candidate="b")
    verdict = decide(pairs=(good, bad))
    assert verdict.decision == "keep_incumbent"
    assert [each.decision for each in verdict.pairs] == ["promote", "keep_incumbent"]
    assert [text[:9] for text in verdict.reasons] == ["a: median", "b: median"]


def test_one_run_of_a_deterministic_agent_is_enough() -> None:
    single = job("t", work(10.0, measured=1), work(9.0, measured=1))
    assert decide(single, deterministic=True).decision == "promote"
    assert decide(single, deterministic=False).decision == "insufficient_evidence"
    none = job("t", work(10.0, measured=0), work(9.0, measured=0))
    assert decide(none, deterministic=True).decision == "insufficient_evidence"


def test_only_tasks_of_the_split_count() -> None:
    tasks = (cheaper("seen"), job("unseen", work(10.0), work(30.0), split="holdout"))
    verdict = decide(*tasks, split="train")
    assert verdict.decision == "promote"
    assert [each.task for each in verdict.pairs[0].tasks] == ["seen"]
    assert verdict.pairs[0].means == {"all": (10.0, 19.5), "holdout": (10.0, 30.0), "train": (10.0, 9.0)}
    assert decide(*tasks, split="all").decision == "keep_incumbent"


# Tasks that neither arm resolves --------------------------------------------------------------------------


def test_a_task_that_neither_arm_resolves_does_not_veto_and_is_named() -> None:
    """Lesson L19."""
    verdict = decide(cheaper("a"), cheaper("b"), failed("x"), failed("y", 15.0))
    assert verdict.decision == "promote"
    assert verdict.reasons == (
        "tasks that decide nothing, because neither arm resolves them: 2 of 4 (x, y)",
        "median change of cost_usd (tasks: 2): -10 %, better",
    )
    table = {each.task: each for each in verdict.pairs[0].tasks}
    assert (table["x"].ungated, table["a"].ungated) == ("neither arm resolves it", None)
    assert (table["y"].incumbent_resolved, table["y"].effect, table["y"].change) == ((0, 3), "same", 50.0)


def test_what_is_saved_on_a_task_that_neither_arm_resolves_is_no_saving() -> None:
    verdict = decide(equal("a"), equal("b"), failed("x", 1.0), failed("y", 1.0))
    assert verdict.decision == "keep_incumbent"
    assert verdict.pairs[0].median_change == 0.0
    assert {each.effect for each in verdict.pairs[0].tasks} == {"same"}


def test_a_task_that_was_not_measured_in_full_is_not_said_to_decide_nothing() -> None:
    partial = job("t", work(resolved=0, excluded={"infra-error": 1}), work(resolved=0))
    verdict = decide(cheaper(), partial)
    assert "decide nothing" not in reasons(verdict)
    assert [each.ungated for each in verdict.pairs[0].tasks] == [None, None]


def test_lesson_l20_failing_nine_times_as_dear_does_not_promote() -> None:
    assert decide(cheaper("a"), cheaper("b"), failed(cost=90.0)).decision == "keep_incumbent"


def test_lesson_l20_a_task_where_neither_arm_used_its_skill_stays_gated() -> None:
    unused = job("t", work(resolved=0, unused=3), work(resolved=0, unused=3))
    assert decide(cheaper("a"), cheaper("b"), unused).decision == "keep_incumbent"


def test_lesson_l20_one_of_three_tasks_does_not_decide_alone() -> None:
    assert decide(cheaper(), failed("a"), failed("b")).decision == "insufficient_evidence"


# What the ancestor's own tests pin (research/gitnexus.md §13) -----------------------------------------------


def test_a_median_of_eleven_percent_less_output_over_two_tasks_promotes() -> None:
    verdict = decide(
        job("a", work(100), work(90)), job("b", work(100), work(88)), options={"metric": "output"}
    )
    assert verdict.decision == "promote"
    assert (verdict.metric, verdict.pairs[0].median_change) == ("output", -11.0)


def test_a_quarter_more_on_one_of_two_tasks_keeps() -> None:
    tasks = (job("a", work(100), work(20)), job("b", work(100), work(125)))
    assert decide(*tasks).decision == "keep_incumbent"


def test_one_failed_candidate_run_of_three_keeps_even_at_eighty_percent_less() -> None:
    assert decide(job("a", work(100), work(20, 2)), cheaper()).decision == "keep_incumbent"


def test_one_run_each_and_no_model_gives_both_reasons() -> None:
    verdict = decide(job("a", work(measured=1), work(5.0, measured=1)), model=None)
    assert verdict.decision == "insufficient_evidence"
    assert "no model is named" in reasons(verdict)
    assert "measured cells of the candidate: 1, needed: 3" in reasons(verdict)


def test_a_cleanup_failure_in_one_of_three_is_insufficient_and_the_median_is_over_the_other_two() -> None:
    rows = sweep(candidate_costs=(2.0, 4.0, 99.0), last="cleanup-failure")
    found = collect(rows)
    total = found.pairs[0].tasks[0].candidate.aggregate
    assert (total.measured, total.excluded, total.cost_usd) == (2, {"cleanup-failure": 1}, 3.0)
    assert policy().decide(found).decision == "insufficient_evidence"
    assert policy().decide(collect(sweep((2.0, 4.0, 9.0)))).decision == "promote"


def test_a_cell_that_did_not_use_its_skill_is_measured_and_counts_against_the_candidate() -> None:
    found = collect(sweep((2.0, 4.0, 9.0), last="skill-not-invoked"))
    assert found.pairs[0].tasks[0].candidate.aggregate.skill_not_invoked == 1
    verdict = policy().decide(found)
    assert verdict.decision == "keep_incumbent"
    assert "resolved cells 3 of 3 → 2 of 3" in reasons(verdict)


def test_lesson_l22_one_unknown_cost_is_no_cost_of_zero() -> None:
    verdict = policy().decide(collect(sweep((2.0, None, 2.0))))
    assert verdict.decision == "insufficient_evidence"
    assert "not known: cost_usd of the candidate" in reasons(verdict)


def sweep(candidate_costs: Sequence[float | None], last: str | None = None) -> list[Row]:
    """Three cells of each arm on one task, all resolved; the candidate's last one of kind `last`."""
    kinds = (None, None, last)
    return [
        *(make_row("a", "direct", repeat, kind=None, cost=10.0) for repeat in range(3)),
        *(
            make_row("a", "candidate_direct", repeat, kind=kind, cost=cost)
            for repeat, (kind, cost) in enumerate(zip(kinds, candidate_costs, strict=True))
        ),
    ]


def collect(rows: Sequence[Row]) -> Any:
    return collect_evidence(
        rows,
        tasks=[("a", "fix", "train", False)],
        pairs=[("direct", "candidate_direct")],
        model="m-1",
        deterministic=False,
        stopped=None,
        split="all",
    )


# Known counter-examples and limits (docs/gate.md) -----------------------------------------------------------


@pytest.mark.parametrize(
    ("resolved", "decision"),
    [(0, "promote"), (1, "keep_incumbent"), (2, "keep_incumbent"), (3, "keep_incumbent")],
)
def test_counter_example_solving_a_hard_task_turns_promote_into_keep(resolved: int, decision: str) -> None:
    """Trying in vain may cost 50 % more, solving it may not."""
    hard = job("hard", work(10.0, 0), work(15.0, resolved))
    assert decide(cheaper("a"), cheaper("b"), hard).decision == decision


def test_counter_example_one_solved_cell_brings_a_task_into_the_median_and_turns_promote_into_keep() -> None:
    """Nothing is dearer here: the hard task costs the same, and 0 % joins the median once it is solved."""
    tasks = (job("a", work(10.0), work(9.0)), job("b", work(10.0), work(10.0)))
    assert decide(*tasks, failed()).decision == "promote"
    assert decide(*tasks, job("hard", work(10.0, 0), work(10.0, 1))).decision == "keep_incumbent"


def test_counter_example_a_solved_cell_beside_one_without_the_skill_turns_promote_into_keep() -> None:
    tried = job("t", work(resolved=0), work(resolved=0))
    solved_without = job("t", work(resolved=0), work(resolved=2, unused=1))
    assert decide(cheaper("a"), cheaper("b"), tried).decision == "promote"
    assert decide(cheaper("a"), cheaper("b"), solved_without).decision == "keep_incumbent"


def test_counter_example_one_lucky_cell_of_the_incumbent_keeps_what_solves_twice_as_much() -> None:
    gain = job("gain", work(resolved=0), work(resolved=2))
    lucky = job("gain", work(resolved=1), work(resolved=2))
    assert decide(gain, cheaper("a"), cheaper("b")).decision == "promote"
    assert decide(lucky, cheaper("a"), cheaper("b")).decision == "keep_incumbent"


def test_limit_a_large_saving_loses_to_one_task_that_is_dearer() -> None:
    savings = [job(f"t{number}", work(10.0), work(1.0)) for number in range(9)]
    assert decide(*savings, job("u", work(10.0), work(12.1))).decision == "keep_incumbent"


def test_limit_two_more_resolved_cells_promote_at_any_price_below_the_cap() -> None:
    dearer = [job(f"t{number}", work(10.0), work(12.0)) for number in range(9)]
    assert decide(*dearer, job("u", work(10.0, 0), work(12.0, 2))).decision == "promote"


# Options --------------------------------------------------------------------------------------------------


def test_every_key_of_the_configuration_is_read() -> None:
    shipped = yaml.safe_load(CONF.read_text())
    assert (shipped["policy"], shipped["split"], shipped["options"]) == ("threshold_cost", "all", OPTIONS)
    assert set(THRESHOLD_COST.options_schema["required"]) == set(OPTIONS)
    for key in OPTIONS:
        with pytest.raises(ConfigError, match=key):
            THRESHOLD_COST.create({name: value for name, value in OPTIONS.items() if name != key})


TWO_AND_HARD = (cheaper("a"), cheaper("b"), failed(cost=15.0))
OTHERWISE = {
    "metric": ("turns", (job("t", work(10.0), work(9.0, turns=10.0)),)),
    "min_runs": (4, (cheaper(),)),
    "min_improvement_pct": (10.1, (cheaper(),)),
    "max_task_regression_pct": (10.0, (cheaper("a"), cheaper("b"), job("t", work(10.0), work(11.5)))),
    "max_failed_task_regression_pct": (49.9, TWO_AND_HARD),
    "min_gated_task_ratio": (0.7, TWO_AND_HARD),
    "resolution_margin": (3, (job("t", work(resolved=0), work(resolved=2)), equal())),
}


@pytest.mark.parametrize("key", OPTIONS)
def test_every_key_of_the_configuration_can_change_a_verdict(key: str) -> None:
    value, tasks = OTHERWISE[key]
    assert decide(*tasks).decision == "promote"
    assert decide(*tasks, options={key: value}).decision != "promote"


@pytest.mark.parametrize(
    "wrong",
    [
        {"metric": "output_tokens"},
        {"min_runs": 0},
        {"min_runs": True},
        {"min_improvement_pct": 0},
        {"min_improvement_pct": float("nan")},
        {"max_task_regression_pct": -1},
        {"max_failed_task_regression_pct": "100"},
        {"min_gated_task_ratio": 1.5},
        {"resolution_margin": 0},
        {"x": 1},
    ],
)
def test_a_wrong_option_is_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        policy(**wrong)


@pytest.mark.parametrize(("metric", "warned"), [("output", True), ("turns", True), ("cost_usd", False), ("seconds", False)])  # fmt: skip
def test_lesson_l23_numbers_of_the_main_loop_come_with_a_warning_that_decides_nothing(
    metric: str, warned: bool
) -> None:
    verdict = decide(cheaper(), options={"metric": metric})
    assert verdict.decision == "promote"
    assert ("subagents" in verdict.reasons[-1]) == warned
    assert ("subagents" in verdict.pairs[0].reasons[-1]) == warned
    assert decide(equal(), options={"metric": metric}).decision == "keep_incumbent"


def test_a_warning_stands_once_for_several_pairs() -> None:
    pairs = (pair(cheaper(), candidate="a"), pair(cheaper(), candidate="b"))
    assert reasons(decide(pairs=pairs, options={"metric": "turns"})).count("subagents") == 1


def test_the_verdict_names_its_policy_parameters_and_what_a_change_is() -> None:
    verdict = decide(cheaper(), options={"min_runs": 2})
    assert (verdict.policy, verdict.metric, verdict.change_as) == ("threshold_cost", "cost_usd", "percent")
    assert verdict.parameters == OPTIONS | {"min_runs": 2}


def test_the_forecast_names_the_thresholds_and_promises_no_error_rate() -> None:
    said = policy(metric="turns", min_improvement_pct=7.5).detects(8, 3)
    assert "7.5 % less turns on the median of 8 tasks, or 2 more resolved cells" in said
    assert "no error rate" in said


def test_the_policy_is_found_by_its_name() -> None:
    found = load_policy(PromotionConfig(policy="threshold_cost", split="all", options=OPTIONS))
    assert found.decide(evidence(cheaper())) == decide(cheaper())

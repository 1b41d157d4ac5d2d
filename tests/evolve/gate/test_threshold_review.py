import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from evidence_builders import (
    OPTIONS,
    RANKS,
    any_evidence,
    arm,
    better,
    clean,
    complete_tasks,
    evidence,
    pair,
    policy,
    same,
    task,
    with_candidate,
)
from hypothesis import given
from hypothesis import strategies as st

from bench.config import PromotionConfig
from bench.digest import canonical_json
from bench.errors import ConfigError, ExtensionError
from bench.scoring import Finding, Review, score_review
from bench.suite import Label, Severity
from evolve.gate import THRESHOLD_REVIEW, ArmEvidence, Evidence, TaskEvidence, Verdict, load_policy

CONF = Path(__file__).parents[3] / "conf" / "promotion" / "threshold_review.yaml"


def decide(*tasks: TaskEvidence, options: dict[str, Any] | None = None, **changes: Any) -> Verdict:
    return policy(**(options or {})).decide(evidence(*tasks, **changes))


def reasons(verdict: Verdict) -> str:
    return "\n".join(verdict.reasons)


# The rules, one by one ------------------------------------------------------------------------------------


def test_one_better_defect_and_nothing_worse_promotes() -> None:
    verdict = decide(better(), same(), clean())
    assert verdict.decision == "promote"
    assert verdict.reasons == ("task defect: weighted F1 0.500 → 0.750, better",)
    assert {each.task: each.effect for each in verdict.pairs[0].tasks} == {
        "defect": "better",
        "other": "same",
        "clean": "same",
    }


KEEP = {
    "nothing better": ([same(), clean()], "no task with a defect got better by 0.01 or more"),
    "too little": ([task("t", arm(0.5), arm(0.509))], "no task with a defect got better"),
    "another defect worse": (
        [better(), task("t", arm(0.5), arm(0.4999))],
        "task t: weighted F1 0.500000 → 0.499900, worse",
    ),
    "verdicts": (
        [better(), with_candidate(same(), verdicts_right=2)],
        "task other: right verdicts 3 of 3 → 2 of 3, worse",
    ),
    "blockers": (
        [with_candidate(better(), blocker_recall=0.5)],
        "blocker recall (worst repeat) 1.000 → 0.500, worse",
    ),
    "clean control": ([better(), clean(false_positives=1.0)], "false positives on clean code 0 → 1, worse"),
    "clean pass": (
        [better(), clean(clean_pass=False)],
        "the incumbent passes this clean control, the candidate does not",
    ),
}


@pytest.mark.parametrize(("tasks", "reason"), KEEP.values(), ids=KEEP.keys())
def test_whatever_is_worse_or_not_better_keeps_the_incumbent_and_says_so(
    tasks: Sequence[TaskEvidence], reason: str
) -> None:
    verdict = decide(*tasks)
    assert verdict.decision == "keep_incumbent"
    assert reason in reasons(verdict)


INSUFFICIENT = {
    "missing candidate": ([better(), task("t", arm(), None)], "task t: nothing was measured of the candidate"),
    "missing both": ([better(), task("t")], "task t: nothing was measured of the incumbent and the candidate"),
    "too few runs": ([better(), task("t", arm(measured=2), arm(measured=2))], "task t: measured cells of the candidate: 2, needed: 3"),
    "unequal runs": ([better(), task("t", arm(measured=4), arm())], "4 of the incumbent, 3 of the candidate"),
    "excluded incumbent": ([better(), task("t", arm(excluded={"infra-error": 1}), arm())], "of the incumbent could not be measured: 1 infra-error"),
    "excluded candidate": ([better(), task("t", arm(), arm(excluded={"review-invalid": 2}))], "of the candidate could not be measured: 2 review-invalid"),
    "excluded without a kind": ([better(), task("t", arm(), arm(runs=4))], "kind unknown"),
    "rows left out": ([better(), with_candidate(task("t", arm(measured=4), arm()), measured=4, runs=4)], "3 of 4 rows of the candidate are at hand"),
    "unknown F1": ([better(), with_candidate(same(), weighted_f1=None)], "not known: weighted_f1 of the candidate"),
    "unknown false positives": ([better(), with_candidate(same(), false_positives=None)], "not known: false_positives of the candidate"),
    "unknown clean pass": ([better(), clean(clean_pass=None)], "not known: clean_pass of the candidate"),
    "unknown control": ([better(), clean(clean_control=None)], "not known: whether it is a clean control"),
    "control of one arm": ([better(), with_candidate(same(), clean_control=True)], "not known: whether it is a clean control"),
    "unknown verdicts": ([better(), with_candidate(same(), verdicts_right=None)], "not known: which verdicts are right"),
    "blockers of one arm": ([better(), with_candidate(same(), blocker_recall=None)], "blocker recall is known of one arm only"),
    "no task": ([], "no task of split all was planned"),
}  # fmt: skip


@pytest.mark.parametrize(("tasks", "reason"), INSUFFICIENT.values(), ids=INSUFFICIENT.keys())
def test_whatever_is_missing_is_insufficient_and_says_so(tasks: Sequence[TaskEvidence], reason: str) -> None:
    verdict = decide(*tasks)
    assert verdict.decision == "insufficient_evidence"
    assert reason in reasons(verdict)


def test_insufficient_beats_keep_beats_promote_and_every_reason_is_given() -> None:
    worse, missing = task("worse", arm(0.5), arm(0.25)), task("missing", arm(), None)
    assert decide(better(), worse).decision == "keep_incumbent"
    verdict = decide(better(), worse, missing)
    assert verdict.decision == "insufficient_evidence"
    assert len(verdict.reasons) == 3
    assert decide(missing, better(), worse) == verdict


@pytest.mark.parametrize("before", [number / 100 for number in range(0, 99, 2)])
def test_an_improvement_of_exactly_the_threshold_counts_whatever_floats_make_of_it(before: float) -> None:
    assert decide(task("t", arm(before), arm(round(before + 0.01, 2)))).decision == "promote"


def test_a_clean_control_that_neither_passes_is_no_regression() -> None:
    both_fail = task("c", arm(clean=True, clean_pass=False), arm(clean=True, clean_pass=False))
    assert decide(better(), both_fail).decision == "promote"


def test_a_score_of_zero_is_a_score() -> None:
    assert decide(task("t", arm(0.0), arm(0.5))).decision == "promote"
    assert decide(task("t", arm(0.5), arm(0.0))).decision == "keep_incumbent"


def test_no_named_model_is_insufficient() -> None:
    verdict = decide(better(), model=None)
    assert verdict.decision == "insufficient_evidence"
    assert "no model is named" in reasons(verdict)


def test_one_run_each_and_no_model_gives_both_reasons() -> None:
    verdict = decide(task("t", arm(0.5, measured=1), arm(0.75, measured=1)), model=None)
    assert verdict.decision == "insufficient_evidence"
    assert "no model is named" in reasons(verdict)
    assert "measured cells of the candidate: 1, needed: 3" in reasons(verdict)


def test_one_run_of_a_deterministic_agent_is_enough() -> None:
    single = task("t", arm(0.5, measured=1), arm(0.75, measured=1))
    assert decide(single, deterministic=True).decision == "promote"
    assert decide(single, deterministic=False).decision == "insufficient_evidence"
    none = task("t", arm(0.5, measured=0), arm(0.75, measured=0))
    assert decide(none, deterministic=True).decision == "insufficient_evidence"


@given(complete_tasks(), st.sampled_from(("cancelled", "breaker", "deadline", "budget-exhausted")))
def test_a_stopped_sweep_is_insufficient_whatever_it_shows(tasks: Sequence[TaskEvidence], cause: str) -> None:
    verdict = decide(*tasks, stopped=cause)
    assert verdict.decision == "insufficient_evidence"
    assert cause in verdict.reasons[0]


def test_no_candidate_arm_is_insufficient() -> None:
    assert decide(pairs=()).decision == "insufficient_evidence"


def test_every_pair_must_promote() -> None:
    good, bad = pair(better(), candidate="a"), pair(same(), candidate="b")
    assert decide(pairs=(good, pair(better(), candidate="b"))).decision == "promote"
    verdict = decide(pairs=(good, bad))
    assert verdict.decision == "keep_incumbent"
    assert [each.decision for each in verdict.pairs] == ["promote", "keep_incumbent"]
    assert verdict.reasons[0].startswith("a: task defect")
    assert verdict.reasons[1].startswith("b: no task")


# The corrected default for verdicts -----------------------------------------------------------------------


def hard(incumbent: int, candidate: int) -> TaskEvidence:
    return task("hard", arm(verdicts_right=incumbent), arm(verdicts_right=candidate))


@pytest.mark.parametrize(
    ("incumbent", "candidate", "not_worse", "always_right"),
    [
        (0, 0, "promote", "keep_incumbent"),
        (1, 2, "promote", "keep_incumbent"),
        (3, 3, "promote", "promote"),
        (0, 3, "promote", "promote"),
        (2, 1, "keep_incumbent", "keep_incumbent"),
    ],
)
def test_verdicts_on_a_case_that_is_hard_for_both(
    incumbent: int, candidate: int, not_worse: str, always_right: str
) -> None:
    tasks = (better(), hard(incumbent, candidate))
    assert decide(*tasks, options={"verdict": "not_worse"}).decision == not_worse
    assert decide(*tasks, options={"verdict": "always_right"}).decision == always_right


def test_always_right_does_not_ask_how_the_incumbent_did() -> None:
    tasks = (better(), task("t", arm(verdicts_right=None), arm()))
    assert decide(*tasks, options={"verdict": "always_right"}).decision == "promote"
    assert decide(*tasks).decision == "insufficient_evidence"


# Splits ---------------------------------------------------------------------------------------------------


def test_only_tasks_of_the_split_count_and_the_others_appear_in_the_means_alone() -> None:
    tasks = (
        better("seen", split="train"),
        task("unseen", arm(0.75), arm(0.25), split="holdout"),
        task("unmeasured", split="holdout"),
    )
    verdict = decide(*tasks, split="train")
    assert verdict.decision == "promote"
    assert [each.task for each in verdict.pairs[0].tasks] == ["seen"]
    assert verdict.pairs[0].means == {"all": (None, None), "holdout": (None, None), "train": (0.5, 0.75)}
    assert decide(*tasks[:2], split="train").pairs[0].means["holdout"] == (0.75, 0.25)
    assert decide(*tasks[:2], split="holdout").decision == "keep_incumbent"
    assert decide(*tasks[:2], split="all").decision == "keep_incumbent"


def test_a_split_without_a_task_is_insufficient() -> None:
    assert decide(better(split="train"), split="holdout").decision == "insufficient_evidence"


def test_means_leave_clean_controls_out() -> None:
    verdict = decide(better("a"), task("b", arm(0.0), arm(0.25)), clean())
    assert verdict.pairs[0].means == {"all": (0.25, 0.5), "train": (0.25, 0.5)}


# Properties -----------------------------------------------------------------------------------------------


@given(any_evidence(), st.randoms(use_true_random=False))
def test_the_verdict_does_not_depend_on_the_order_of_anything(
    given_evidence: Evidence, chance: random.Random
) -> None:
    shuffled = [
        msgspec.structs.replace(each, tasks=tuple(chance.sample(each.tasks, len(each.tasks))))
        for each in chance.sample(given_evidence.pairs, len(given_evidence.pairs))
    ]
    other = msgspec.structs.replace(given_evidence, pairs=tuple(shuffled))
    assert canonical_json(policy().decide(other)) == canonical_json(policy().decide(given_evidence))


@given(any_evidence())
def test_partial_missing_or_unequal_evidence_never_promotes(given_evidence: Evidence) -> None:
    if policy().decide(given_evidence).decision != "promote":
        return
    assert given_evidence.model is not None
    assert given_evidence.stopped is None
    assert given_evidence.pairs
    runs = 1 if given_evidence.deterministic else 3
    for each in given_evidence.pairs:
        counted = [one for one in each.tasks if given_evidence.split in ("all", one.split)]
        assert counted
        for one in counted:
            totals = [one.incumbent.aggregate, one.candidate.aggregate]
            assert totals[0].measured == totals[1].measured >= runs
            assert all(not total.excluded and total.runs == total.measured for total in totals)
            assert all(total.false_positives is not None for total in totals)


@given(complete_tasks(), st.integers(0, 3))
def test_taking_any_one_measurement_away_never_leaves_a_promotion(
    tasks: Sequence[TaskEvidence], position: int
) -> None:
    position %= len(tasks)
    candidate = tasks[position].candidate
    shorter = msgspec.structs.replace(candidate, rows=candidate.rows[1:])
    fewer = msgspec.structs.replace(candidate.aggregate, measured=candidate.aggregate.measured - 1)
    for broken in (shorter, None, msgspec.structs.replace(candidate, aggregate=fewer)):
        partial = [*tasks]
        partial[position] = msgspec.structs.replace(tasks[position], candidate=broken)
        assert decide(*partial).decision == "insufficient_evidence"


@given(complete_tasks(), st.permutations(range(4)))
def test_names_of_tasks_and_arms_do_not_decide(tasks: Sequence[TaskEvidence], names: Sequence[int]) -> None:
    renamed = [
        msgspec.structs.replace(each, task=f"n{names[number]}", task_class="any")
        for number, each in enumerate(tasks)
    ]
    before = decide(*tasks)
    after = decide(pairs=(pair(*renamed, incumbent="x", candidate="y"),))
    assert after.decision == before.decision
    assert after.pairs[0].means == before.pairs[0].means
    assert sorted(each.effect for each in after.pairs[0].tasks) == sorted(
        each.effect for each in before.pairs[0].tasks
    )


@given(complete_tasks())
def test_two_equal_arms_never_promote(tasks: Sequence[TaskEvidence]) -> None:
    equal = [msgspec.structs.replace(each, candidate=each.incumbent) for each in tasks]
    assert decide(*equal).decision == "keep_incumbent"


@given(complete_tasks())
def test_what_promotes_does_not_promote_the_other_way_round(tasks: Sequence[TaskEvidence]) -> None:
    swapped = [
        msgspec.structs.replace(each, incumbent=each.candidate, candidate=each.incumbent) for each in tasks
    ]
    assert not (decide(*tasks).decision == decide(*swapped).decision == "promote")


@given(complete_tasks(), st.integers(0, 3), st.data())
def test_better_numbers_of_the_candidate_never_worsen_the_verdict(
    tasks: Sequence[TaskEvidence], position: int, data: st.DataObject
) -> None:
    """Monotone in what the policy reads; the pinned counter-examples below are about what lies behind it."""
    one = tasks[position % len(tasks)]
    total = one.candidate.aggregate
    improved = {
        "false_positives": data.draw(st.sampled_from((0.0, total.false_positives))),
        "verdicts_right": data.draw(st.integers(total.verdicts_right, total.measured)),
    }
    if total.clean_control:
        improved["clean_pass"] = total.clean_pass or data.draw(st.booleans())
    else:
        improved["weighted_f1"] = data.draw(st.floats(total.weighted_f1, 1.0))
        improved["blocker_recall"] = data.draw(st.floats(total.blocker_recall, 1.0))
    raised = [with_candidate(each, **improved) if each is one else each for each in tasks]
    for mode in ("not_worse", "always_right"):
        before, after = (decide(*some, options={"verdict": mode}).decision for some in (tasks, raised))
        assert RANKS[after] >= RANKS[before]


# Known counter-examples and limits (docs/gate.md) --------------------------------------------------------------------


def scored_arm(review: Review, labels: list[Label]) -> ArmEvidence:
    score = score_review(review, labels)
    return arm(
        score.weighted_f1,
        false_positives=float(score.false_positives),
        blocker_recall=score.blocker_recall,
        verdicts_right=3 * score.verdict_right,
    )


def claim(name: str, severity: Severity, line: int, end_line: int) -> Finding:
    return Finding(
        id=name, severity=severity, path="a.py", line=line, end_line=end_line, category="correctness", scenario="s",
        evidence="e", recommendation="r", blocking=severity == "critical",
    )  # fmt: skip


def test_counter_example_one_more_correct_finding_turns_promote_into_keep() -> None:
    """Matching counts pairs before it weighs them, so a second hit can cost the first one its severity."""
    labels = [
        Label("x", "critical", "a.py", 10, 10, "correctness"),
        Label("y", "low", "a.py", 20, 20, "correctness"),
    ]
    broad, more = claim("broad", "critical", 10, 20), claim("more", "low", 10, 10)
    one, two = (
        Review(schema_version=1, verdict="request_changes", findings=found)
        for found in ((broad,), (broad, more))
    )
    incumbent = scored_arm(Review(schema_version=1, verdict="approve", findings=()), labels)
    assert score_review(two, labels).true_positives > score_review(one, labels).true_positives
    better_incumbent = arm(0.9, blocker_recall=1.0)
    assert decide(task("t", better_incumbent, scored_arm(one, labels))).decision == "promote"
    assert decide(task("t", better_incumbent, scored_arm(two, labels))).decision == "keep_incumbent"
    assert decide(task("t", incumbent, scored_arm(two, labels))).decision == "promote"


def test_limit_one_excluded_cell_anywhere_vetoes_even_where_both_arms_lost_it() -> None:
    hit = task(
        "hit",
        arm(0.5, measured=2, excluded={"infra-error": 1}),
        arm(0.75, measured=2, excluded={"infra-error": 1}),
    )
    assert decide(better(), better("b"), hit).decision == "insufficient_evidence"


def test_limit_a_gain_on_nine_tasks_loses_to_the_smallest_loss_on_a_tenth() -> None:
    gains = [task(f"t{number}", arm(0.0), arm(1.0)) for number in range(9)]
    assert decide(*gains, task("u", arm(0.5), arm(0.499))).decision == "keep_incumbent"


# Options --------------------------------------------------------------------------------------------------


def test_every_key_of_the_configuration_is_read() -> None:
    shipped = yaml.safe_load(CONF.read_text())
    assert shipped["options"] == OPTIONS
    assert set(THRESHOLD_REVIEW.options_schema["required"]) == set(OPTIONS)
    for key in OPTIONS:
        with pytest.raises(ConfigError, match=key):
            THRESHOLD_REVIEW.create({name: value for name, value in OPTIONS.items() if name != key})


@pytest.mark.parametrize(
    ("options", "tasks"),
    [
        ({"min_runs": 4}, (better(),)),
        ({"min_improvement": 0.5}, (better(),)),
        ({"verdict": "always_right"}, (better(), hard(0, 0))),
    ],
)
def test_every_key_of_the_configuration_can_change_a_verdict(
    options: dict[str, Any], tasks: Sequence[TaskEvidence]
) -> None:
    assert decide(*tasks).decision == "promote"
    assert decide(*tasks, options=options).decision != "promote"


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_runs": 0},
        {"min_runs": True},
        {"min_improvement": 0},
        {"min_improvement": float("nan")},
        {"verdict": "best"},
        {"x": 1},
    ],
)
def test_a_wrong_option_is_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        policy(**wrong)


def test_the_verdict_names_its_policy_and_parameters() -> None:
    verdict = decide(better(), options={"min_runs": 2})
    assert (verdict.policy, verdict.metric) == ("threshold_review", "weighted_f1")
    assert verdict.parameters == OPTIONS | {"min_runs": 2}


def test_the_forecast_names_the_threshold_and_promises_no_error_rate() -> None:
    said = policy(min_improvement=0.05).detects(6, 3)
    assert "0.05 weighted F1 on any of 6 tasks" in said
    assert "no error rate" in said


def test_the_policy_is_found_by_its_name() -> None:
    found = load_policy(PromotionConfig(policy="threshold_review", split="all", options=OPTIONS))
    assert found.decide(evidence(better())) == decide(better())
    with pytest.raises(ExtensionError, match="did you mean 'threshold_review'"):
        load_policy(PromotionConfig(policy="threshold_reviews", split="all"))

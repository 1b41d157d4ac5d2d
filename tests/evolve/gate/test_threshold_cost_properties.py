import random
from collections.abc import Sequence

import msgspec
from evidence_builders import RANKS, evidence, pair
from hypothesis import event, given
from hypothesis import strategies as st
from work_builders import any_jobs, complete_jobs, policy

from bench.digest import canonical_json
from evolve.gate import ArmEvidence, Evidence, TaskEvidence, Verdict


def decide(*tasks: TaskEvidence) -> Verdict:
    return policy().decide(evidence(*tasks))


def with_candidate(task: TaskEvidence, **changes: float) -> TaskEvidence:
    total = msgspec.structs.replace(task.candidate.aggregate, **changes)
    return msgspec.structs.replace(task, candidate=ArmEvidence(aggregate=total, rows=task.candidate.rows))


@given(any_jobs(), st.randoms(use_true_random=False))
def test_the_verdict_does_not_depend_on_the_order_of_anything(some: Evidence, chance: random.Random) -> None:
    shuffled = [
        msgspec.structs.replace(each, tasks=tuple(chance.sample(each.tasks, len(each.tasks))))
        for each in chance.sample(some.pairs, len(some.pairs))
    ]
    other = msgspec.structs.replace(some, pairs=tuple(shuffled))
    assert canonical_json(policy().decide(other)) == canonical_json(policy().decide(some))


@given(any_jobs())
def test_partial_missing_unequal_unknown_or_zero_evidence_never_promotes(some: Evidence) -> None:
    decision = policy().decide(some).decision
    event(decision)
    if decision != "promote":
        return
    assert some.model is not None
    assert some.stopped is None
    assert some.pairs
    runs = 1 if some.deterministic else 3
    for each in some.pairs:
        counted = [one for one in each.tasks if some.split in ("all", one.split)]
        assert counted
        for one in counted:
            totals = [one.incumbent.aggregate, one.candidate.aggregate]
            assert totals[0].measured == totals[1].measured >= runs
            assert all(not total.excluded and total.runs == total.measured for total in totals)
            assert all(len(arm.rows) == arm.aggregate.measured for arm in (one.incumbent, one.candidate))
            assert all(total.cost_usd for total in totals)


@given(complete_jobs())
def test_complete_evidence_is_decided_or_too_little_of_it_is_resolved(tasks: Sequence[TaskEvidence]) -> None:
    verdict = decide(*tasks)
    event(verdict.decision)
    gated = [each for each in verdict.pairs[0].tasks if each.ungated is None]
    assert (verdict.decision == "insufficient_evidence") == (not gated or 2 * len(gated) < len(tasks))


@given(complete_jobs(), st.integers(0, 4))
def test_taking_any_one_measurement_away_never_leaves_a_promotion(
    tasks: Sequence[TaskEvidence], position: int
) -> None:
    position %= len(tasks)
    candidate = tasks[position].candidate
    shorter = msgspec.structs.replace(candidate, rows=candidate.rows[1:])
    fewer = msgspec.structs.replace(candidate.aggregate, measured=candidate.aggregate.measured - 1)
    unknown = msgspec.structs.replace(candidate.aggregate, cost_usd=None)
    zero = msgspec.structs.replace(candidate.aggregate, cost_usd=0.0)
    totals = [msgspec.structs.replace(candidate, aggregate=total) for total in (fewer, unknown, zero)]
    for broken in (shorter, None, *totals):
        partial = [*tasks]
        partial[position] = msgspec.structs.replace(tasks[position], candidate=broken)
        assert decide(*partial).decision == "insufficient_evidence"


@given(complete_jobs(), st.permutations(range(5)))
def test_names_of_tasks_and_arms_do_not_decide(tasks: Sequence[TaskEvidence], names: Sequence[int]) -> None:
    renamed = [
        msgspec.structs.replace(each, task=f"n{names[number]}", task_class="any")
        for number, each in enumerate(tasks)
    ]
    before = decide(*tasks)
    after = policy().decide(evidence(pairs=(pair(*renamed, incumbent="x", candidate="y"),)))
    assert after.decision == before.decision
    assert after.pairs[0].means == before.pairs[0].means
    assert after.pairs[0].median_change == before.pairs[0].median_change
    assert sorted(each.effect for each in after.pairs[0].tasks) == sorted(
        each.effect for each in before.pairs[0].tasks
    )


@given(complete_jobs())
def test_two_equal_arms_never_promote(tasks: Sequence[TaskEvidence]) -> None:
    same = [msgspec.structs.replace(each, candidate=each.incumbent) for each in tasks]
    assert decide(*same).decision != "promote"


@given(complete_jobs())
def test_what_promotes_does_not_promote_the_other_way_round(tasks: Sequence[TaskEvidence]) -> None:
    swapped = [
        msgspec.structs.replace(each, incumbent=each.candidate, candidate=each.incumbent) for each in tasks
    ]
    assert not (decide(*tasks).decision == decide(*swapped).decision == "promote")


@given(complete_jobs(), st.integers(0, 4), st.sampled_from((0.5, 0.9, 0.99)))
def test_a_candidate_that_takes_less_is_never_judged_worse(
    tasks: Sequence[TaskEvidence], position: int, share: float
) -> None:
    position %= len(tasks)
    less = [*tasks]
    less[position] = with_candidate(
        tasks[position], cost_usd=share * tasks[position].candidate.aggregate.cost_usd
    )
    assert RANKS[decide(*less).decision] >= RANKS[decide(*tasks).decision]


@given(complete_jobs(), st.integers(0, 4), st.data())
def test_more_success_on_a_task_that_decides_already_is_never_judged_worse(
    tasks: Sequence[TaskEvidence], position: int, data: st.DataObject
) -> None:
    """The counter-examples are tasks that more success makes decide; test_threshold_cost.py pins them."""
    position %= len(tasks)
    before = decide(*tasks)
    table = {each.task: each for each in before.pairs[0].tasks}
    one, total = tasks[position], tasks[position].candidate.aggregate
    if table[one.task].ungated is not None:
        return
    more = [*tasks]
    more[position] = with_candidate(one, resolved=data.draw(st.integers(total.resolved, total.measured)))
    assert RANKS[decide(*more).decision] >= RANKS[before.decision]

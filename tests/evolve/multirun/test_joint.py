"""The joint verdict: gain over all points at one α, no point with harm, nothing counted twice, nothing unknown forgotten."""

from collections.abc import Iterable, Sequence
from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from bench.results import Aggregate
from evolve.gate import ArmEvidence, Evidence, PairEvidence, RowEvidence, TaskEvidence
from evolve.multirun import JointVerdict, PointEvidence, Question, Seen, judge_together

Pair = tuple[bool, bool]  # resolved by the incumbent, by the candidate

WIN, LOSS, TIE = (False, True), (True, False), (True, True)


def arm(point: int, role: str, task: int, resolved: Sequence[bool | None]) -> ArmEvidence:
    rows = tuple(
        RowEvidence(
            row=f"{point}/{role}/{task}/{repeat}", repeat=repeat, fresh=True, resolved=value, skill_invoked=True,
            score=None, cost_usd=None, turns=1, seconds=1.0, output=None,
        )
        for repeat, value in enumerate(resolved)
        if value is not None
    )  # fmt: skip
    total = Aggregate(
        runs=len(resolved), measured=len(rows), excluded={}, resolved=sum(row.resolved for row in rows),
        skill_not_invoked=0, clean_control=None, weighted_f1=None, false_positives=None, blocker_recall=None,
        verdicts_right=None, clean_pass=None, cost_usd=None, turns=1.0, seconds=1.0, output=None,
    )  # fmt: skip
    return ArmEvidence(aggregate=total, rows=rows)


def point(number: int, tasks: Sequence[Sequence[tuple[bool | None, bool | None]]]) -> PointEvidence:
    """A point with these pairs of repeats of each task."""
    told = tuple(
        TaskEvidence(
            task=f"t{index}",
            task_class="work",
            split="all",
            critical=False,
            incumbent=arm(number, "review", index, [before for before, _ in pairs]),
            candidate=arm(number, "candidate", index, [now for _, now in pairs]),
        )
        for index, pairs in enumerate(tasks)
    )
    evidence = Evidence(
        schema_version=1, model="m", deterministic=False, stopped=None, split="all",
        pairs=(PairEvidence(incumbent_arm="review", candidate_arm="candidate", tasks=told),),
    )  # fmt: skip
    rows = [
        row.row for task in told for side in (task.incumbent, task.candidate) if side for row in side.rows
    ]
    return PointEvidence(
        point=number, label=f"point {number}", decision="keep_incumbent", metric="resolved", alpha=None,
        evidence=evidence, seen={row: Seen(row, True) for row in rows},
    )  # fmt: skip


def judge(points: Iterable[PointEvidence], missing: tuple[tuple[int, str], ...] = ()) -> JointVerdict:
    return judge_together(Question(overlay="o", idea="i", points=tuple(points), missing=missing))


def level(wins: int, losses: int) -> float:
    """The sign test, by the textbook."""
    return sum(comb(wins + losses, k) for k in range(wins, wins + losses + 1)) / 2 ** (wins + losses)


pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12)


@given(st.lists(pairs, min_size=1, max_size=4))
def test_it_promotes_exactly_where_the_united_pairs_gain_and_no_point_alone_loses(
    points: list[list[Pair]],
) -> None:
    verdict = judge(point(number, [[each] for each in found]) for number, found in enumerate(points, start=1))
    united = [each for found in points for each in found]
    p = level(united.count(WIN), united.count(LOSS))
    harm = any(level(found.count(LOSS), found.count(WIN)) <= 0.05 for found in points)
    assert verdict.arms[0].p == pytest.approx(p)
    assert [each.p_harm for each in verdict.points] == pytest.approx(
        [level(found.count(LOSS), found.count(WIN)) for found in points]
    )
    assert (verdict.decision == "promote") == (p <= 0.05 and not harm)
    assert (verdict.decision == "keep_incumbent") == (harm or p > 0.05)


@given(st.permutations(range(4)), st.lists(pairs, min_size=4, max_size=4))
def test_the_order_of_points_means_nothing(order: list[int], found: list[list[Pair]]) -> None:
    points = [point(number, [[each] for each in pairs]) for number, pairs in enumerate(found, start=1)]
    assert judge(points) == judge([points[index] for index in order])


def test_of_all_worlds_without_an_effect_no_more_than_alpha_promote() -> None:
    sizes = (3, 4, 2)
    promoted = 0
    worlds = list(product((WIN, LOSS), repeat=sum(sizes)))
    for world in worlds:
        rest, points = list(world), []
        for number, size in enumerate(sizes, start=1):
            points.append(point(number, [[each] for each in rest[:size]]))
            rest = rest[size:]
        promoted += judge(points).decision == "promote"
    assert 0 < promoted / len(worlds) <= 0.05


def test_points_that_show_nothing_alone_promote_together() -> None:
    points = [point(number, [[WIN], [WIN], [TIE]]) for number in (1, 2, 3)]
    assert judge(points[:2]).decision == "keep_incumbent"
    assert judge(points).decision == "promote"


def test_one_point_with_harm_keeps_the_incumbent_however_much_the_others_gain() -> None:
    good = [point(number, [[WIN]] * 20) for number in (1, 2)]
    bad = point(3, [[LOSS]] * 6)
    verdict = judge([*good, bad])
    assert verdict.decision == "keep_incumbent"
    assert verdict.reasons[0].startswith("point 3: harm, resolved is lower")


def test_a_measurement_that_two_points_share_counts_once() -> None:
    first = point(1, [[WIN]] * 4)
    shared = structs.replace(
        first, point=2, label="point 2", seen={name: Seen(name, True) for name in first.seen}
    )
    verdict = judge([first, shared])
    assert verdict.decision == "keep_incumbent"
    assert (verdict.arms[0].pairs, verdict.arms[0].shared, verdict.arms[0].p) == (4, 4, level(4, 0))


def test_rows_of_before_may_show_harm_and_never_gain() -> None:
    def older(found: PointEvidence) -> PointEvidence:
        return structs.replace(found, seen={name: Seen(name, False) for name in found.seen})

    assert judge([older(point(1, [[WIN]] * 20))]).decision == "keep_incumbent"
    verdict = judge([older(point(1, [[LOSS]] * 6)), point(2, [[WIN]] * 20)])
    assert (verdict.decision, verdict.points[0].harm) == ("keep_incumbent", True)


def test_a_failed_point_is_insufficient_unless_harm_is_shown_elsewhere() -> None:
    good = point(1, [[WIN]] * 20)
    assert judge([good], ((2, "point 2"),)).decision == "insufficient_evidence"
    assert judge([point(1, [[LOSS]] * 20)], ((2, "point 2"),)).decision == "keep_incumbent"


def test_an_unknown_cell_counts_against_the_candidate_and_is_told_where_it_decides() -> None:
    hanging = judge([point(1, [[WIN]] * 4 + [[(False, None)]])])
    assert hanging.decision == "insufficient_evidence"
    assert hanging.arms[0].unknown == 1
    clear = judge([point(1, [[WIN]] * 12 + [[(False, None)]])])
    assert clear.decision == "promote"


@pytest.mark.parametrize(
    "change",
    [{"stopped": "breaker"}, {"looks": (1, 2)}, {"drift": "it drifted"}, {"model": None}, {"pairs": ()}],
)
def test_evidence_that_no_policy_would_take_is_insufficient(change: dict[str, object]) -> None:
    good = point(1, [[WIN]] * 20)
    broken = structs.replace(
        good, point=2, label="point 2", evidence=structs.replace(good.evidence, **change)
    )
    verdict = judge([good, broken])
    assert verdict.decision == "insufficient_evidence"
    assert any(reason.startswith("point 2: ") for reason in verdict.reasons)


def test_points_that_decide_on_different_endpoints_have_no_joint_verdict() -> None:
    other = structs.replace(point(2, [[WIN]] * 20), metric="turns")
    verdict = judge([point(1, [[WIN]] * 20), other])
    assert verdict.decision == "insufficient_evidence"
    assert "resolved and turns" in verdict.reasons[0]


def test_the_strictest_alpha_of_the_points_holds() -> None:
    points = [
        structs.replace(point(number, [[WIN]] * 3), alpha=alpha) for number, alpha in ((1, 0.05), (2, 0.01))
    ]
    verdict = judge(points)
    assert (verdict.alpha, verdict.decision) == (0.01, "keep_incumbent")

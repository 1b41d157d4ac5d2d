import random

from hypothesis import given
from hypothesis import strategies as st
from review_builders import finding, findings, label, labels

from bench.scoring import Finding, match
from bench.suite import Label


def may_pair(claim: Finding, wanted: Label) -> bool:
    return claim.path == wanted.path and claim.line <= wanted.line_end and wanted.line_start <= claim.end_line


def most_pairs(claims: list[Finding], wanted: list[Label]) -> int:
    """The largest number of pairs, by trying everything."""
    if not claims:
        return 0
    first, rest = claims[0], claims[1:]
    tried = [most_pairs(rest, wanted)]
    for position, each in enumerate(wanted):
        if may_pair(first, each):
            tried.append(1 + most_pairs(rest, wanted[:position] + wanted[position + 1 :]))
    return max(tried)


@given(findings(most=5), labels(most=5))
def test_no_assignment_has_more_pairs(claims: list[Finding], wanted: list[Label]) -> None:
    assert len(match(claims, wanted)) == most_pairs(claims, wanted)


@given(findings(), labels())
def test_every_pair_is_possible_and_nothing_is_used_twice(claims: list[Finding], wanted: list[Label]) -> None:
    pairs = match(claims, wanted)
    assert all(may_pair(*pair) for pair in pairs)
    assert len({claim.id for claim, _ in pairs}) == len({each.id for _, each in pairs}) == len(pairs)


@given(findings(), labels(), st.randoms(use_true_random=False))
def test_the_order_of_findings_and_labels_never_matters(
    claims: list[Finding], wanted: list[Label], chance: random.Random
) -> None:
    shuffled, mixed = chance.sample(claims, len(claims)), chance.sample(wanted, len(wanted))
    assert match(shuffled, mixed) == match(claims, wanted)


def test_a_finding_over_many_lines_points_at_nothing() -> None:
    wanted = [label("one", start=30, end=30), label("two", start=70, end=72)]
    assert match([finding("all", line=1, end_line=10_000)], wanted) == ()
    assert match([finding("more", line=1, end_line=51)], wanted) == ()
    assert len(match([finding("just", line=1, end_line=50)], wanted)) == 1


def test_a_label_over_many_lines_is_met_by_a_finding_as_long() -> None:
    wanted = [label("long", start=1, end=200)]
    assert len(match([finding("same", line=1, end_line=200)], wanted)) == 1
    assert match([finding("longer", line=1, end_line=201)], wanted) == ()


def test_a_greedy_choice_is_undone_where_that_finds_one_pair_more() -> None:
    exact, loose = finding("exact", line=10), finding("loose", line=10, end_line=20)
    first, second = label("first", start=10), label("second", start=20)
    near = label("near", start=10, end=10, category="correctness")
    assert len(match([exact, loose], [first, second])) == 2
    assert len(match([exact, loose], [near, second])) == 2


def test_among_equally_many_pairs_category_decides_before_severity_before_distance() -> None:
    by_category = label("category", category="security", severity="low", start=14)
    by_severity = label("severity", category="other", severity="high", start=12)
    by_distance = label("distance", category="other", severity="low", start=10)
    wide = finding(category="security", severity="high", line=10, end_line=20)
    chosen = [by_category, by_severity, by_distance]
    while chosen:
        assert match([wide], chosen)[0][1].id == chosen[0].id
        chosen = chosen[1:]


def test_the_same_line_of_another_file_is_no_match() -> None:
    assert match([finding(path="a.py")], [label(path="b.py")]) == ()


def test_touching_lines_overlap_and_neighbouring_lines_do_not() -> None:
    assert match([finding(line=5, end_line=10)], [label(start=10, end=12)])
    assert not match([finding(line=5, end_line=9)], [label(start=10, end=12)])

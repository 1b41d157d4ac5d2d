"""Which earlier row stands for a cell: the one of which everything that the measurement depends on is the same."""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from reuse_builders import LIMITS, NOW, PLAN, chosen, finished, one, sound, wanted
from row_builders import make_row

from bench.digest import digest_json
from bench.results import (
    KINDS_OF_STATUS,
    Artifact,
    Damage,
    Identity,
    Kind,
    Provenance,
    Reused,
    Row,
    class_of,
    reuse_fields,
    reuse_key,
)
from bench.reuse import Limits, Wanted, adopt, select, with_canaries

ROW = make_row(kind=None)
FIELDS = [
    f"{part}.{name}"
    for part, struct in (("identity", Identity), ("provenance", Provenance))
    for name in struct.__struct_fields__
]
# what the plan beside the rows is checked for, or no other row of the cell can be told by
OTHERWISE = {
    "identity.plan": "foreign-plan",
    "identity.task": "no-row",
    "identity.arm": "no-row",
    "identity.repeat": "no-row",
}


def changed(row: Row, field: str) -> Row:
    """The row with another value in one field."""
    part, _, name = field.partition(".")
    old: Any = getattr(getattr(row, part), name)
    new = old + 1 if isinstance(old, int) else "control" if name == "role" else f"{old or ''}x"
    return structs.replace(row, **{part: structs.replace(getattr(row, part), **{name: new})})


@pytest.mark.parametrize("field", FIELDS)
def test_each_field_that_is_marked_misses_alone_and_each_other_one_hits(field: str) -> None:
    other = changed(ROW, field)
    source = one(wanted(ROW), other)
    if field in OTHERWISE:
        assert (source.kind, source.reason) == ("fresh", OTHERWISE[field])
    elif field in reuse_fields():
        old, new = (dict(zip(reuse_fields(), reuse_key(row), strict=True))[field] for row in (other, ROW))
        assert (source.reason, source.field, source.before, source.now) == ("differs", field, old, new)
    else:
        assert (source.kind, source.row) == ("reused", digest_json(other))


@pytest.mark.parametrize("field", [field for field in FIELDS if field not in OTHERWISE])
def test_each_field_that_is_marked_misses_as_well_where_it_is_another_now(field: str) -> None:
    source = one(wanted(changed(ROW, field)), ROW)
    assert (source.kind == "reused") == (field not in reuse_fields())


@pytest.mark.parametrize("field", [field for field in reuse_fields() if field not in OTHERWISE])
@pytest.mark.parametrize("sides", ["before", "now", "both"])
def test_what_is_unknown_on_a_side_equals_nothing(field: str, sides: str) -> None:
    if isinstance(dict(zip(reuse_fields(), reuse_key(ROW), strict=True))[field], int):
        pytest.skip("a number is never unknown")
    part, _, name = field.partition(".")
    blank = structs.replace(ROW, **{part: structs.replace(getattr(ROW, part), **{name: ""})})
    cell, row = (wanted(blank if sides != "before" else ROW), blank if sides != "now" else ROW)
    source = one(cell, row)
    assert (source.kind, source.reason, source.field) == ("fresh", "unknown", field)


@pytest.mark.parametrize("kind", [None, *sorted(KINDS_OF_STATUS["measured"])])
def test_a_measured_row_is_reused_whatever_it_measured(kind: Kind | None) -> None:
    row = make_row(kind=kind)
    assert one(wanted(row), row).kind == "reused"


@pytest.mark.parametrize("kind", ["review-invalid", "session-error", "cancelled"])
def test_a_row_that_measured_nothing_stands_for_nothing(kind: Kind) -> None:
    row = make_row(kind=kind)
    assert one(wanted(row), row).reason == "not-measured"


def test_a_row_that_was_measured_in_its_second_attempt_is_reused() -> None:
    second = make_row(kind=None, attempt=1)
    assert one(wanted(second), make_row(kind="session-error"), second).row == digest_json(second)


def test_a_candidate_of_another_overlay_is_never_reused_and_one_of_the_same_is() -> None:
    row = make_row(arm="candidate_review", kind=None)
    row = structs.replace(row, provenance=structs.replace(row.provenance, overlay="o1"))
    other = structs.replace(row, provenance=structs.replace(row.provenance, overlay="o2"))
    assert one(wanted(row), row).kind == "reused"
    assert one(wanted(other), row).field == "provenance.overlay"


def test_different_rows_of_one_cell_drop_it_and_equal_ones_count_once() -> None:
    other = make_row(kind="oracle-failed", scored=None)
    assert one(wanted(ROW), ROW, ROW).kind == "reused"
    assert one(wanted(ROW), ROW, other).reason == "conflicting"
    assert one(wanted(ROW), ROW, other, ROW).reason == "conflicting"


@pytest.mark.parametrize(("days", "kind"), [(0, "reused"), (90, "reused"), (90.001, "fresh")])
def test_a_measurement_counts_until_it_is_too_old(days: float, kind: str) -> None:
    row = finished(ROW, days)
    assert one(wanted(row), row).kind == kind


def test_age_counts_from_the_first_measurement_through_any_chain() -> None:
    row = finished(ROW, 60)
    for _ in range(3):
        row = adopt(row, row.identity)
        assert one(wanted(row), row).kind == "reused"
    late = Limits(now=NOW + timedelta(days=31), max_age_days=90)
    assert one(wanted(row), row, limits=late).reason == "too-old"


def test_a_time_in_the_future_is_corrupt_but_not_a_clock_that_is_a_little_ahead() -> None:
    assert one(wanted(ROW), finished(ROW, -1)).reason == "from-the-future"
    assert one(wanted(ROW), finished(ROW, -0.001)).kind == "reused"


def test_a_reused_row_that_claims_a_later_first_measurement_is_corrupt() -> None:
    row = structs.replace(finished(ROW, 80), reuse=Reused("r", NOW))
    assert one(wanted(row), row).reason == "from-the-future"


def test_a_row_of_another_plan_than_the_one_beside_it_stands_for_nothing() -> None:
    source = one(wanted(ROW), ROW, plan="q" * 64)
    assert (source.reason, source.before, source.now) == ("foreign-plan", PLAN, "q" * 64)


def test_a_cell_whose_template_could_not_be_built_is_measured() -> None:
    assert one(Wanted(*ROW.key, None), ROW).reason == "no-template"


@pytest.mark.parametrize("problem", ["missing", "changed"])
def test_a_row_without_all_its_artifacts_is_paid_and_names_the_one(problem: Any) -> None:
    row = structs.replace(ROW, artifacts={"good": Artifact("a" * 64, 1), "bad": Artifact("b" * 64, 1)})

    def damaged(artifact: Artifact) -> Damage | None:
        return Damage(artifact.digest, problem) if artifact.digest == "b" * 64 else None

    source = select([wanted(row)], [row], PLAN, LIMITS, damaged).sources[0]
    assert (source.reason, source.detail) == (f"artifact-{problem}", f"bad ({'b' * 64})")


def test_a_retired_class_is_never_reused_unless_it_was_measured_after() -> None:
    retired = {class_of(reuse_key(ROW)): NOW - timedelta(days=5)}
    limits = Limits(now=NOW, max_age_days=90, retired=retired)
    for days, reason in ((6, "retired"), (5, "retired"), (4, None)):
        row = finished(ROW, days)
        assert one(wanted(row), row, limits=limits).reason == reason
        assert one(wanted(row), adopt(row, row.identity), limits=limits).reason == reason
    other = finished(changed(ROW, "provenance.agent"), 6)
    assert one(wanted(other), other, limits=limits).kind == "reused"


def many(arms: int, cells: int) -> list[Row]:
    return [make_row(f"task-{cell}", f"arm-{arm}", kind=None) for arm in range(arms) for cell in range(cells)]


@given(arms=st.integers(1, 4), cells=st.integers(1, 30), share=st.floats(0.01, 1), seed=st.text(max_size=3))
def test_canaries_are_a_share_of_each_arm_and_at_least_one(
    arms: int, cells: int, share: float, seed: str
) -> None:
    asked, selection = chosen(many(arms, cells))
    sources = with_canaries(asked, selection, share, seed).sources
    found = Counter(cell.arm for cell, source in zip(asked, sources, strict=True) if source.kind == "canary")
    assert set(found.values()) == {max(1, round(share * cells))}
    assert [source.row for source in sources] == [source.row for source in selection.sources]


def test_canaries_are_the_same_for_the_same_seed_and_others_for_another() -> None:
    asked, selection = chosen(many(2, 30))
    first, again, other = (with_canaries(asked, selection, 0.2, seed).sources for seed in "aab")
    assert first == again != other


def test_without_a_share_there_are_no_canaries() -> None:
    asked, selection = chosen(many(2, 5))
    assert with_canaries(asked, selection, 0, "") == selection


def look_of(last: Mapping[str, int], cell: Wanted) -> int:
    return last.get(cell.task, 0)


def test_every_cell_gets_its_turn_before_one_is_measured_again_twice() -> None:
    asked, selection = chosen(many(1, 10))
    last: dict[str, int] = {}
    turns: list[frozenset[str]] = []
    for look in range(1, 11):
        canaries = with_canaries(asked, selection, 0.2, str(look), partial(look_of, last)).sources
        again = [cell.task for cell, source in zip(asked, canaries, strict=True) if source.kind == "canary"]
        last |= dict.fromkeys(again, look)
        turns.append(frozenset(again))
    for start in range(6):
        assert len(frozenset[str]().union(*turns[start : start + 5])) == 10


def test_an_adopted_row_is_what_was_measured_under_the_name_of_now() -> None:
    row = finished(make_row(kind="oracle-failed", attempt=1), 3)
    now = structs.replace(row.identity, generation=7, plan="q" * 64, attempt=0, split="holdout")
    adopted = adopt(row, now)
    assert adopted.identity == now
    assert adopted.reuse == Reused(digest_json(row), row.finished_at)
    assert adopt(adopted, now).reuse == Reused(digest_json(adopted), row.finished_at)
    assert structs.replace(adopted, identity=row.identity, reuse=None) == row


def test_nothing_is_selected_that_was_not_asked_for() -> None:
    rows = many(1, 5)
    selection = select([wanted(rows[2])], rows, PLAN, LIMITS, sound)
    assert list(selection.rows.values()) == [rows[2]]

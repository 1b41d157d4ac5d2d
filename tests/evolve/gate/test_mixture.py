"""Rows that do not belong together, or not to their plan, are refused by the name of what differs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from row_builders import make_row
from test_evidence import PAIRS, ROWS, TASKS, collect

from bench.results import Row
from evolve.gate import Expected, foreign_faults, unpaired_faults
from evolve.gate.mixture import MEASURED_WITH, mixture_faults

IDENTITY: dict[str, Any] = {
    "plan": "q" * 64, "agent": "other", "agent_version": "2", "model": "m", "effort": "high", "generation": 2,
}  # fmt: skip


def with_identity(row: Row, **changes: Any) -> Row:
    return structs.replace(row, identity=structs.replace(row.identity, **changes))


def with_provenance(row: Row, **changes: Any) -> Row:
    return structs.replace(row, provenance=structs.replace(row.provenance, **changes))


def replaced(number: int, row: Row) -> tuple[Row, ...]:
    return (*ROWS[:number], row, *ROWS[number + 1 :])


NUMBERS = st.integers(0, len(ROWS) - 1)


@given(st.sampled_from(sorted(IDENTITY)), NUMBERS)
def test_one_row_of_another_sweep_agent_model_or_effort_spoils_the_evidence(name: str, number: int) -> None:
    rows = replaced(number, with_identity(ROWS[number], **{name: IDENTITY[name]}))
    with pytest.raises(ValueError, match=f"more than one {name.replace('_', ' ')} are no evidence"):
        collect(rows)


@given(st.sampled_from(MEASURED_WITH), NUMBERS)
def test_one_row_that_was_measured_with_something_else_spoils_its_arm_and_task(
    name: str, number: int
) -> None:
    row = with_provenance(ROWS[number], **{name: "another"})
    with pytest.raises(
        ValueError, match=f"of arm {row.identity.arm} on task {row.identity.task} .* one {name}"
    ):
        collect(replaced(number, row))


@given(st.sampled_from([name for name in MEASURED_WITH if name != "overlay"]), st.sampled_from("ab"))
def test_arms_and_tasks_may_differ_from_each_other_in_all_that_they_were_measured_with(
    name: str, task: str
) -> None:
    rows = [with_provenance(row, **{name: "x"}) if row.identity.task == task else row for row in ROWS]
    assert list(mixture_faults(rows, PAIRS)) == []


def test_candidates_of_two_overlays_are_not_mixed_over_tasks_either() -> None:
    rows = [
        with_provenance(row, overlay=row.identity.task) if row.identity.arm == "candidate_review" else row
        for row in ROWS
    ]
    with pytest.raises(ValueError, match="more than one overlay: a, b"):
        collect(rows)


def test_a_task_with_two_sets_of_facts_is_refused() -> None:
    with pytest.raises(ValueError, match="task a is planned twice"):
        collect(tasks=(*TASKS, ("a", "review-defect", "train", False)))
    with pytest.raises(ValueError, match="task a is planned twice"):
        collect(tasks=(*TASKS, TASKS[0]))


def test_a_retry_is_looked_at_like_every_other_row() -> None:
    failed = with_identity(make_row("a", "review", 0, kind="session-error", attempt=7), model="m")
    with pytest.raises(ValueError, match="more than one model"):
        collect((*ROWS, failed))


EXPECTED = Expected(
    plan="p" * 64,
    generation=1,
    agent="rulebook/1",
    model=None,
    effort=None,
    seed=0,
    overlay=None,
    cells=frozenset(row.key for row in ROWS),
    roles={"review": "incumbent", "candidate_review": "candidate", "no_skill": "comparator"},
)


def test_the_rows_of_a_plan_are_not_foreign_to_it() -> None:
    assert list(foreign_faults(ROWS, EXPECTED)) == []


@given(st.sampled_from([*sorted(IDENTITY), "seed", "role"]), NUMBERS)
def test_what_a_row_says_otherwise_than_the_plan_is_named(name: str, number: int) -> None:
    value = (IDENTITY | {"seed": 5, "role": "control"})[name]
    (fault,) = foreign_faults([with_identity(ROWS[number], **{name: value})], EXPECTED)
    assert name.removesuffix("_version") in fault
    assert str(value) in fault


@given(NUMBERS)
def test_only_candidates_carry_the_overlay_and_they_all_do(number: int) -> None:
    expected, row = structs.replace(EXPECTED, overlay="o"), ROWS[number]
    right = with_provenance(row, overlay="o" if row.identity.role == "candidate" else None)
    wrong = with_provenance(row, overlay=None if row.identity.role == "candidate" else "o")
    assert list(foreign_faults([right], expected)) == []
    (fault,) = foreign_faults([wrong], expected)
    assert f"overlay of arm {row.identity.arm}" in fault


def test_a_row_of_a_cell_that_was_not_planned_is_named() -> None:
    assert list(foreign_faults([make_row("a", repeat=9)], EXPECTED)) == [
        "a row of a cell that was not planned: a/review/9"
    ]


def test_a_fault_of_many_rows_is_said_once() -> None:
    assert len(list(foreign_faults(ROWS, structs.replace(EXPECTED, plan="r")))) == 1


@given(st.sets(st.integers(0, 4)), st.sets(st.integers(0, 4)))
def test_repeats_are_paired_exactly_if_both_arms_have_the_same(first: set[int], second: set[int]) -> None:
    rows = [make_row("a", "review", repeat) for repeat in first]
    rows += [make_row("a", "candidate_review", repeat) for repeat in second]
    found = list(unpaired_faults(rows, PAIRS, ["a", "b"]))
    assert bool(found) == (first != second)
    assert all("task a: repeats" in fault for fault in found)

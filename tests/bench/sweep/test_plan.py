"""The plan: which cells there are, in which order, and what is refused before anything is measured."""

from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.config import ArmSpec, Role, SessionKind, SessionSpec
from bench.errors import OverlayError, SuiteError
from bench.suite import CommandOracle, LabelOracle, Task, TreeSource
from bench.sweep import Declared, Plan, make_plan


def arm(role: Role, kind: SessionKind = "review", candidate_of: str | None = None) -> ArmSpec:
    return ArmSpec(
        role=role,
        sessions={"session": SessionSpec(kind=kind, prompt="prompts/review.md")},
        candidate_of=candidate_of,
    )


def task(name: str, *, review: bool = True) -> Task:
    labels, command = LabelOracle((), "digest"), CommandOracle("true", (), "digest", "digest")
    return Task(
        id=name,
        class_="review-defect" if review else "trivial",
        split="train",
        source=TreeSource(Path("/tree"), "digest"),
        change=None,
        prompt="",
        setup="",
        verify="",
        oracle=labels if review else command,
    )


ARMS = {
    "review": arm("incumbent"),
    "candidate_review": arm("candidate", candidate_of="review"),
    "no_skill": arm("comparator"),
    "implement": arm("incumbent", "work"),
}
DECLARED = Declared(
    suite="suite", agent="rulebook/1", model="rulebook/1", deterministic=False, contained=True, critical=()
)
REVIEWS = ("review", "candidate_review", "no_skill")


def frame(overlay: str | None = "overlay", seed: int = 0) -> Plan:
    return Plan(
        schema_version=1,
        generation=3,
        suite="suite",
        overlay=overlay,
        configuration="configuration",
        seed=seed,
        declared=DECLARED,
        proposed=None,
        arms=(),
        tasks=(),
        cells=(),
        left_out={"slow": "expensive"},
    )


def plan(
    selected: tuple[str, ...] = REVIEWS,
    tasks: int = 3,
    *,
    repeats: int = 2,
    deterministic: bool = False,
    seed: int = 0,
    overlay: str | None = "overlay",
) -> Plan:
    named = [task(f"task-{number}") for number in range(tasks)]
    return make_plan(
        ARMS,
        selected,
        named,
        repeats=repeats,
        deterministic=deterministic,
        frame=frame(overlay, seed),
    )


SELECTIONS = st.sampled_from([REVIEWS, ("no_skill", "review"), ("review",), tuple(reversed(REVIEWS))])


@given(SELECTIONS, st.integers(1, 5), st.integers(1, 4))
def test_cells_are_ordered_by_task_then_repeat_then_arm(
    selected: tuple[str, ...], tasks: int, repeats: int
) -> None:
    cells = plan(selected, tasks, repeats=repeats).cells

    wanted = product((f"task-{number}" for number in range(tasks)), range(repeats), selected)
    assert [(cell.task, cell.repeat, cell.arm) for cell in cells] == list(wanted)
    assert [cell.index for cell in cells] == list(range(len(cells)))
    assert len({cell.key for cell in cells}) == len(cells)


def test_every_cell_has_the_role_of_its_arm() -> None:
    assert all(cell.role == ARMS[cell.arm].role for cell in plan().cells)


def test_a_plan_says_what_it_was_made_from_and_what_it_leaves_out() -> None:
    made = plan(seed=9)

    assert made.arms == REVIEWS
    assert made.tasks == ("task-0", "task-1", "task-2")
    assert (made.generation, made.suite, made.overlay, made.seed) == (3, "suite", "overlay", 9)
    assert made.left_out == {"slow": "expensive"}


@given(st.integers(1, 40), st.integers(1, 5), st.integers())
def test_a_deterministic_agent_is_measured_once_and_checked_twice_in_a_tenth_of_each_arm_s_cells(
    tasks: int, repeats: int, seed: int
) -> None:
    made = plan(tasks=tasks, repeats=repeats, deterministic=True, seed=seed)

    assert {cell.repeat for cell in made.cells} == {0}
    twice = Counter(cell.arm for cell in made.cells if cell.twice)
    assert twice == dict.fromkeys(REVIEWS, max(1, round(tasks / 10)))


@given(st.integers(1, 30), st.integers())
def test_the_same_seed_gives_the_same_plan(tasks: int, seed: int) -> None:
    first, second = (plan(tasks=tasks, deterministic=True, seed=seed) for _ in range(2))

    assert first == second


def test_which_cells_are_checked_twice_stays_the_same_over_versions_of_this_program() -> None:
    made = plan(("review",), 30, deterministic=True, seed=7, overlay=None)

    assert [cell.index for cell in made.cells if cell.twice] == [10, 11, 21]


def test_another_seed_checks_other_cells() -> None:
    chosen = {
        tuple(cell.index for cell in plan(tasks=30, deterministic=True, seed=seed).cells if cell.twice)
        for seed in range(5)
    }

    assert len(chosen) == 5


@given(SELECTIONS)
def test_which_cells_of_an_arm_are_checked_twice_does_not_depend_on_the_other_arms(
    selected: tuple[str, ...],
) -> None:
    def twice(made: Plan) -> set[str]:
        return {cell.task for cell in made.cells if cell.twice and cell.arm == "review"}

    assert twice(plan(selected, 20, deterministic=True)) == twice(plan(tasks=20, deterministic=True))


def test_an_agent_that_is_not_deterministic_is_never_checked_twice() -> None:
    assert not any(cell.twice for cell in plan().cells)


def test_a_candidate_without_its_incumbent_is_refused() -> None:
    with pytest.raises(OverlayError, match="candidate_review would be measured without its incumbent review"):
        plan(("candidate_review", "no_skill"))


def test_a_candidate_without_an_overlay_is_refused() -> None:
    with pytest.raises(OverlayError, match="candidate_review is a candidate, but there is no overlay"):
        plan(overlay=None)


def test_incumbents_and_comparators_need_no_overlay() -> None:
    assert len(plan(("review", "no_skill"), overlay=None).cells) == 12


MIXED = [task("look"), task("build", review=False)]


def test_an_arm_is_measured_only_on_tasks_whose_answer_it_gives() -> None:
    made = make_plan(ARMS, ("review", "implement"), MIXED, repeats=1, deterministic=False, frame=frame(None))

    assert [(cell.task, cell.arm) for cell in made.cells] == [("look", "review"), ("build", "implement")]


def test_a_task_on_which_no_arm_works_is_left_out_with_the_reason() -> None:
    made = make_plan(ARMS, ("review",), MIXED, repeats=1, deterministic=False, frame=frame(None))

    assert made.tasks == ("look",)
    assert made.left_out == {"slow": "expensive", "build": "no selected arm works on such a task"}


def test_a_plan_without_any_cell_is_refused() -> None:
    with pytest.raises(SuiteError, match="the arms implement work on none of the 1 selected tasks"):
        make_plan(ARMS, ("implement",), MIXED[:1], repeats=1, deterministic=False, frame=frame(None))

"""Which tasks a run measures: by id, class and split, of reviews and of work alike; the others are named."""

import json
from collections.abc import Sequence

import pytest
from cell_project import CellProject

from bench.cli import main
from bench.results import read_rows

LABELS = {"schema_version": 1, "findings": []}


@pytest.fixture
def mixed(project: CellProject) -> CellProject:
    """A suite of two reviews and two tasks of work, and an arm for each kind."""
    project.tree({"a.txt": "a\n"})
    project.write("suites/mine/labels/none.json", json.dumps(LABELS))
    for number, split in enumerate(("train", "holdout"), 1):
        project.task(f"work-{number}", "test -e new", split=split)
        project.task(f"review-{number}", "true", split=split)
        project.tasks[-1] |= {
            "class": "review-clean",
            "change": "all",
            "oracle": {"labels": "labels/none.json"},
        }
    project.arm("work")
    review = {"kind": "review", "prompt": "prompts/review_without_skill.md", "boundary": []}
    project.arm("look", {"review": review})
    approval = {"schema_version": 1, "verdict": "approve", "findings": []}
    project.agent(
        "place = paths['artifact'] if session['kind'] == 'review' else 'new'\n"
        f"open(place, 'w').write('{json.dumps(approval)}')"
    )
    return project


def measured(
    project: CellProject, capsys: pytest.CaptureFixture[str], *filters: str
) -> tuple[list[str], str]:
    """The cells that a run of the real command measured, and what it said."""
    code = main([*project.overrides(*filters), "--root", str(project.root), "--json"])
    said = capsys.readouterr()
    assert code == 0, said.err
    rows, _ = read_rows(project.root / "runs" / json.loads(said.out)["run"] / "results.jsonl")
    return [f"{row.identity.task}/{row.identity.arm}" for row in rows], said.err


def left_out(said: str) -> set[str]:
    """The tasks that a run says it leaves out, each with a reason."""
    notes = [line for line in said.splitlines() if line.startswith("note: ") and " left out: " in line]
    return {task for note in notes for task in note.rpartition(": ")[2].split(", ")}


@pytest.mark.parametrize(
    ("filters", "cells"),
    [
        ((), ["work-1/work", "review-1/look", "work-2/work", "review-2/look"]),
        (("tasks.id=work-1",), ["work-1/work"]),
        (("tasks.id=*-2",), ["work-2/work", "review-2/look"]),
        (("tasks.class=review-*",), ["review-1/look", "review-2/look"]),
        (("tasks.split=holdout", "tasks.class=trivial"), ["work-2/work"]),
    ],
)
def test_filters_choose_tasks_of_both_kinds(
    mixed: CellProject, capsys: pytest.CaptureFixture[str], filters: Sequence[str], cells: list[str]
) -> None:
    found, said = measured(mixed, capsys, *filters)
    assert sorted(found) == sorted(cells)
    chosen = {cell.partition("/")[0] for cell in cells}
    assert left_out(said) == {f"{kind}-{number}" for kind in ("work", "review") for number in (1, 2)} - chosen


def test_tasks_that_no_arm_works_on_are_named(mixed: CellProject, capsys: pytest.CaptureFixture[str]) -> None:
    del mixed.arms["look"]
    found, said = measured(mixed, capsys)
    assert sorted(found) == ["work-1/work", "work-2/work"]
    assert (
        "note: 2 tasks of the suite are of a kind that these arms do not work on, and are not measured: review-1, review-2\n"
        in said
    )


def test_a_filter_that_leaves_nothing_for_the_arms_is_refused(
    mixed: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    del mixed.arms["look"]
    assert main([*mixed.overrides("tasks.class=review-*"), "--root", str(mixed.root)]) == 2
    assert (
        "the arms work work on none of the 2 selected tasks, which are review tasks"
        in capsys.readouterr().err
    )

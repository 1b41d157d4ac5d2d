"""A reused row in a sweep: in its place of the order, before the breaker, without a session."""

import json
from pathlib import Path

import pytest
from cell_project import CellProject
from reusing import Reusing

from bench.results import read_rows

# breaks wherever the task's tree is not a good one
BREAKS = "if not os.path.exists('good'): raise SystemExit(3)\nopen('new', 'w').write('x')"


@pytest.fixture
def striped(project: CellProject, capsys: pytest.CaptureFixture[str]) -> Reusing:
    """Eight tasks, every second of which breaks every session."""
    for number in range(8):
        folder = "good" if number % 2 else "bad"
        project.write(f"suites/mine/{folder}/{folder}", "x\n")
        project.task(f"t{number}", "test -e new", source={"tree": folder})
    project.arm("work")
    project.agent(BREAKS)
    return Reusing(project, capsys)


def statuses(folder: Path) -> list[str]:
    return [row.outcome.status for row in read_rows(folder / "results.jsonl")[0]]


def test_a_reused_success_resets_the_streak_in_its_place_of_the_order(striped: Reusing) -> None:
    striped.run("tasks.id='t[1357]'", "breaker=2")
    striped.run("breaker=2", code=1)  # nothing fresh could be measured; but all of it was tried
    assert statuses(striped.folder) == ["failed", "measured"] * 4


def test_without_the_successes_between_them_the_same_failures_are_an_outage(striped: Reusing) -> None:
    striped.run("tasks.id='t[1357]'", "breaker=2")
    striped.run("breaker=2", "tasks.id='t[0246]'", code=1)
    assert statuses(striped.folder)[:2] == ["failed", "failed"]


def test_an_outage_among_reused_rows_is_still_exit_1(striped: Reusing) -> None:
    striped.run("tasks.id='t[17]'")
    striped.run("breaker=2", "tasks.id='t[01246]'", code=1)
    assert statuses(striped.folder)[:3] == ["failed", "measured", "failed"]


def test_an_arm_of_which_nothing_fresh_could_be_measured_is_unusable_whatever_is_reused(
    striped: Reusing,
) -> None:
    striped.run("tasks.id='t[1357]'")
    striped.run("tasks.id='t[01357]'", code=1)
    assert sorted(statuses(striped.folder)) == ["failed", *["measured"] * 4]


def test_a_broken_row_is_paid_again_and_a_measured_one_never(striped: Reusing) -> None:
    striped.run("tasks.id='t[01]'")
    assert striped.run("tasks.id='t[01]'", "retries=1", code=1) is None
    assert striped.reasons == ["not-measured", None]


def test_events_tell_reused_cells_from_measured_ones(striped: Reusing, tmp_path: Path) -> None:
    striped.run("tasks.id='t[1357]'")
    striped.run("tasks.id='t[1357]'", "reuse.canaries=0.25", f"--events={tmp_path / 'events'}")
    events = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    sources = [event["source"] for event in events if event["event"] == "cell-finished"]
    assert sorted(sources) == ["canary", "reused", "reused", "reused"]
    assert next(event for event in events if event["event"] == "sweep-started")["reused"] == 3
    assert "3 of them from earlier rows" in striped.said


def test_a_budget_of_cells_counts_those_that_are_measured(striped: Reusing) -> None:
    odd = "tasks.id='t[1357]'"
    striped.run(odd)
    assert striped.run(odd, "budget.cells=1")["reused"] == 4
    striped.run(odd, "budget.cells=1", "reuse.canaries=0.5", code=3)
    assert "the plan needs at least 2 cells: more than the 1 cells that budget.cells allows" in striped.said


def test_what_the_plan_names_lies_beside_it(striped: Reusing) -> None:
    striped.run("tasks.id='t[13]'")
    first, _ = read_rows(striped.folder / "results.jsonl")
    striped.run("tasks.id='t[13]'")
    kept, _ = read_rows(striped.folder / "reused.jsonl")
    assert kept == first

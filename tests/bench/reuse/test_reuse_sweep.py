"""A reused row in a sweep: in its place of the order, before the breaker, without a session."""

import json
import threading
from pathlib import Path

import pytest
from cell_project import CellProject, Silent
from msgspec import structs
from reusing import Reusing

from bench.arms import TemplateSource
from bench.cancellation import Cancellation
from bench.config import load_config
from bench.project import create_run
from bench.results import read_rows
from bench.suite import Derived, Task
from bench.sweep import make_arms, measure_plan, open_ground, seal_plan, with_reuse
from bench.workspace import Template

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


@pytest.mark.parametrize(("between", "stopped"), [("3", False), ("", True)])
def test_two_failures_on_each_side_of_a_reused_success_are_no_streak_of_three(
    striped: Reusing, between: str, *, stopped: bool
) -> None:
    striped.run("tasks.id=t3", "breaker=3")
    striped.run(f"tasks.id='t[02{between}46]'", "breaker=3", code=1)
    assert ("stopped by breaker" in striped.said) == stopped
    rows, _ = read_rows(striped.folder / "results.jsonl")
    assert [row.identity.task for row in rows if row.reuse] == [f"t{each}" for each in between]
    assert ["failed", "failed", *["measured"] * bool(between), "failed"] == statuses(striped.folder)[
        : 3 + len(between)
    ]


class Cancelling:
    """The templates of a project. The first one that is built in the background cancels the run meanwhile."""

    def __init__(self, templates: TemplateSource, cancellation: Cancellation) -> None:
        self._templates, self._cancellation = templates, cancellation
        self._begun = threading.Event()
        self.behind: list[str] = []

    def build(self, task: Task) -> Template:
        self._see(task.id)
        return self._templates.build(task)

    def derive(self, task: Task, asset: Derived) -> Path:
        self._see(f"{task.id} {asset.name}")
        return self._templates.derive(task, asset)

    def _see(self, what: str) -> None:
        if threading.current_thread().name == "templates":
            self.behind.append(what)
            self._cancellation.cancel("a test")
            self._begun.set()
        self._begun.wait()  # else a cell might come first


@pytest.mark.parametrize("left", [1, 2])
def test_nothing_more_is_built_behind_reused_cells_once_the_run_is_cancelled(
    project: CellProject, capsys: pytest.CaptureFixture[str], left: int
) -> None:
    project.tree({"a.txt": "a\n"})
    asset = {"name": "notes", "target": "/opt/notes", "command": 'echo x > "$OUTPUT/x"'}
    for name in ("t0", "t1", "t2", "t3"):
        project.task(name, "test -e new", derived=[asset])
    project.arm("work", tools={"notes": {"kind": "derived", "asset": "notes"}})
    project.agent("open('new', 'w').write('x')")
    Reusing(project, capsys).run(f"tasks.id='t[0-{3 - left}]'")
    config, _ = load_config(project.overrides("reuse.canaries=0"), root=project.root, command="bench")
    with Cancellation() as cancellation, open_ground(config, project.root, (), cancellation) as ground:
        arms = make_arms(ground, ["work"], {})
        sealed = with_reuse(ground, seal_plan(ground, ["work"], 0, None), arms, cancellation)
        assert len(sealed.plan.paid) == left
        templates = Cancelling(ground.templates, cancellation)
        watched = structs.replace(ground, templates=templates)
        run = create_run(project.root, "0" * 64)
        measure_plan(watched, sealed, arms, run, run.path, Silent(), cancellation)
    assert templates.behind == [f"t{4 - left}"]


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

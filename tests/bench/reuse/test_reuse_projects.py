"""What changes in a project, and whether its cells are then measured again: on real templates, in a real sandbox."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cell_project import CellProject
from reusing import Reusing, measured_once

from bench.harness import read_harness

CELLS = 4


@pytest.fixture
def measured(project: CellProject, capsys: pytest.CaptureFixture[str]) -> Reusing:
    return measured_once(project, capsys)


@pytest.mark.parametrize(
    "more",
    [
        ("workers=3", "cpu_slots=1"),
        ("retries=2", "breaker=0"),
        ("name=other",),
        ("budget.wall=500",),
        ("reuse.max_age_days=1",),
        ("sandbox.workspace=copy",),
        ("--quiet",),
        ("--events=events.jsonl",),
    ],
    ids=lambda more: more[0],
)
def test_what_a_measurement_does_not_depend_on_hits(
    measured: Reusing, more: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert measured.run(*more)["paid"] == 0


def test_the_same_project_at_another_path_hits(measured: Reusing, tmp_path: Path) -> None:
    elsewhere = tmp_path / "some" / "where" / "else"
    shutil.copytree(measured.project.root, elsewhere)
    shutil.rmtree(measured.project.root)
    measured.project.root = elsewhere
    measured.project.scratch = tmp_path / "other-scratch"
    measured.project.scratch.mkdir()
    assert measured.run()["paid"] == 0


def test_the_order_and_times_in_which_files_were_made_do_not_matter(
    measured: Reusing, tmp_path: Path
) -> None:
    root = measured.project.root
    copy = tmp_path / "copy"
    files = sorted((path for path in root.rglob("*") if path.is_file()), reverse=True)
    for path in files:
        target = copy / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        target.chmod(path.stat().st_mode)
        os.utime(target, (1_000_000, 1_000_000))
    shutil.rmtree(root)
    copy.rename(root)
    assert measured.run()["paid"] == 0


def test_another_host_user_language_and_time_zone_hit(measured: Reusing) -> None:
    command = [str(Path(sys.executable).parent / "bench"), *measured.project.overrides("reuse.canaries=0")]
    told = {
        "TZ": "Asia/Tokyo",
        "LANG": "de_DE.UTF-8",
        "HOME": "/nowhere",
        "HOSTNAME": "other",
        "USER": "somebody",
    }
    done = subprocess.run(
        [*command, "--root", str(measured.project.root), "--json"],
        env={"PATH": os.environ["PATH"], "PYTHONHASHSEED": "7", "COLUMNS": "40", **told},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["paid"] == 0


def test_the_harness_is_the_same_wherever_it_is_asked(tmp_path: Path) -> None:
    program = "from bench.harness import read_harness; print(read_harness().digest)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == read_harness().digest


def test_more_tasks_arms_and_repeats_pay_only_for_what_is_new(measured: Reusing) -> None:
    measured.project.task("three", "test -e new", verify="true", setup="true")
    measured.project.arm("third")
    done = measured.run("repeats=2")
    assert (done["cells"], done["reused"]) == (3 * 3 * 2, CELLS)
    assert set(measured.reasons) == {None, "no-row"}


def test_fewer_tasks_hit_with_those_that_are_left(measured: Reusing) -> None:
    assert measured.run("tasks.id=two")["reused"] == 2


Change = Callable[[CellProject], object]


def edited(path: str, content: str) -> Change:
    return lambda project: project.write(path, content)


def task(**changes: object) -> Change:
    return lambda project: [each.update(changes) for each in project.tasks]


def executable(path: str) -> Change:
    return lambda project: (project.root / path).chmod(0o755)


@pytest.mark.parametrize(
    ("change", "field", "cells"),
    [
        (edited("suites/mine/tree/a.txt", "b\n"), "provenance.base_commit", CELLS),
        (executable("suites/mine/tree/a.txt"), "provenance.base_commit", CELLS),
        (edited("suites/mine/prompts/do.md", "Do it now.\n"), "provenance.prompt", CELLS),
        (task(setup="true "), "provenance.template", CELLS),
        (task(verify="true && true"), "provenance.verify", CELLS),
        (edited("suites/mine/oracles/expected", "something\n"), "provenance.oracle", CELLS),
        (edited(".claude/skills/helper/SKILL.md", "---\nname: helper\ndescription: A skill.\n---\nx\n"), "provenance.skill", 2),
        (edited("tools/notes/note.txt", "another note\n"), "provenance.tools", 2),
        (executable("tools/notes/note.txt"), "provenance.tools", 2),
        (lambda project: project.agent("open('new', 'w').write('y')"), "provenance.agent", CELLS),
        (executable("agent.py"), "provenance.agent", CELLS),
        (lambda project: project.arms["first"].update(role="comparator"), "identity.role", 2),
        (lambda project: project.arms["first"]["sessions"]["work"].update(boundary=["new"]), "provenance.configuration", 2),
    ],
)  # fmt: skip
def test_what_a_measurement_depends_on_misses_and_is_named(
    measured: Reusing, change: Change, field: str, cells: int
) -> None:
    change(measured.project)
    assert measured.run()["paid"] == cells
    found = {(source["reason"], source["field"]) for source in measured.sources if source["reason"]}
    assert found == {("differs", field)}


@pytest.mark.parametrize(
    ("override", "field"),
    [
        ("seed=1", "identity.seed"),
        ("timeout=599", "provenance.configuration"),
        ("agent.options.version='2'", "identity.agent_version"),
        ("agent.options.arguments=[x]", "provenance.agent"),
        ("sandbox.limits.processes=77", "provenance.configuration"),
    ],
)
def test_a_setting_that_a_measurement_depends_on_misses_and_is_named(
    measured: Reusing, override: str, field: str
) -> None:
    assert measured.run(override)["paid"] == CELLS
    assert {source["field"] for source in measured.sources} == {field}


def test_a_prompt_of_the_project_that_an_arm_uses_misses(measured: Reusing) -> None:
    measured.project.write("conf/prompts/work_without_skill.md", "Work.\n")
    assert measured.run()["paid"] == CELLS
    assert {source["field"] for source in measured.sources} == {"provenance.prompt"}


def test_a_starting_state_that_cannot_be_built_is_measured_and_the_row_says_why(measured: Reusing) -> None:
    for each in measured.project.tasks:
        each["setup"] = "exit 3"
    measured.run(code=1)
    assert set(measured.reasons) == {"no-template"}

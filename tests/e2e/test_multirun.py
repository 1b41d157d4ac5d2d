"""Sweeps of runs: the right table and front, nothing measured twice, a failing or a killed point does not take the rest."""

import json
import signal
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from msgspec import structs

from bench.results import read_rows
from bench.spend import Reserved, read_journal
from tests.e2e.agent_dialects import CLAUDE_CODE
from tests.e2e.agent_rig import Stage, says
from tests.e2e.commands import run, start
from tests.e2e.multirun_project import COST, Rig

TASKS = "tasks.id=review-re*"  # three tasks with a defect
CELLS = 9


def sessions(folder: Path) -> int:
    return sum(isinstance(entry, Reserved) for entry in read_journal(folder / "spend.jsonl"))


@pytest.mark.slow
def test_a_sweep_of_models_and_efforts_has_the_right_table_front_and_joint_verdict(project: Path) -> None:
    rig = Rig(project)
    done = run(
        "evolve", "-m", "--json", "model=small,large", "effort=low,mid,high", *rig.words, "tasks.split=train",
        folder=project,
    )  # fmt: skip
    assert done.code == 0, done.err
    found = {(dot["model"], dot["effort"]): dot for dot in done.json["dots"] if dot["role"] == "candidate"}
    assert {name: dot["cost"]["value"] for name, dot in found.items()} == pytest.approx(COST)
    assert {name for name, dot in found.items() if dot["front"]} == {
        ("small", "low"), ("large", "low"), ("large", "mid"), ("large", "high")
    }  # fmt: skip
    better = [found["small", effort]["quality"]["value"] for effort in ("low", "mid", "high")]
    assert better == sorted(better)
    (joint,) = done.json["joint"]
    assert joint["decision"] == "promote"
    assert [each["harm"] for each in joint["points"]] == [False] * 6
    assert joint["arms"][0]["losses"] == 0
    ET.parse(done.json["picture"])
    report = Path(done.json["report"]).read_text()
    assert "front.svg" in report
    assert "joint verdict on idea" in report
    assert json.loads((Path(done.json["folder"]) / "sweep.json").read_text()) == done.json


def test_the_same_points_under_two_policies_pay_no_cell_again(project: Path) -> None:
    rig = Rig(project)
    words = (*rig.words, TASKS, "repeats=2", "model=large", "effort=low")
    axis = "promotion.options.min_improvement=0.01,0.5"
    done = run("evolve", "-m", "--json", axis, *words, folder=project)
    assert done.code == 0, done.err
    first, second = done.json["points"]
    assert (first["paid"], first["reused"]) == (2 * CELLS, 0)
    assert (second["paid"], second["reused"]) == (0, 2 * CELLS)
    assert sessions(rig.root / "runs" / second["run"]) == 0
    (joint,) = done.json["joint"]
    assert (joint["arms"][0]["pairs"], joint["arms"][0]["shared"]) == (6, 6)


def test_a_failing_point_does_not_stop_the_rest(project: Path) -> None:
    rig = Rig(project, broken="large/low")
    words = ("model=large", "effort=low,high,high", *rig.words, "tasks.id=review-ret*", "retries=0")
    done = run("evolve", "-m", "--json", *words, folder=project)
    assert done.code == 1
    assert [each["code"] for each in done.json["points"]] == [1, 0, None]
    assert [each["same_as"] for each in done.json["points"]] == [None, None, 2]
    (joint,) = done.json["joint"]
    assert joint["decision"] == "insufficient_evidence"
    assert {dot["effort"] for dot in done.json["dots"] if dot["quality"]} == {"high"}


def test_one_budget_holds_for_all_points_and_what_is_left_is_told_before_a_point_begins(
    project: Path,
) -> None:
    rig = Rig(project)
    words = [word for word in rig.words if not word.startswith(("pro", "breaker"))]
    one = ("tasks.id=review-ret*", "model=large", "budget.sessions=3", *words)
    done = run("bench", "-m", "--json", "effort=low,high,mid", *one, folder=project)
    assert done.code == 3, done.err
    low, high = done.json["points"]
    assert (low["code"], low["paid"]) == (0, 2)
    assert (high["code"], high["run"]) == (3, None)
    assert "budget.sessions allows, of which 2 sessions are used" in high["error"]
    assert len(list((rig.root / "runs").glob("2*"))) == 1


def test_after_kill_9_a_sweep_goes_on_and_pays_nothing_twice(project: Path) -> None:
    rig = Rig(project)
    words = ("model=large", "effort=low,high", *rig.words, TASKS, "workers=1")
    process = start("evolve", "-m", *words, folder=project)
    assert process.stderr is not None
    for line in process.stderr:
        if "point 2:" in line:
            break
    for line in process.stderr:
        if line.startswith("[4/"):
            break
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (folder,) = rig.sweeps.iterdir()
    begun = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    runs = [rig.root / "runs" / event["run"] for event in begun if event["event"] == "begun"]
    before = [(run / "gen-1" / "results.jsonl").read_bytes() for run in runs]
    done = run("evolve", "resume", "--json", folder.name, folder=project)
    assert done.code == 0, done.err
    assert [each["run"] for each in done.json["points"]] == [run.name for run in runs]
    after = [(run / "gen-1" / "results.jsonl").read_bytes() for run in runs]
    assert after[0] == before[0]
    assert after[1].startswith(before[1])
    assert len(read_rows(runs[1] / "gen-1" / "results.jsonl")[0]) == CELLS
    assert sessions(runs[1]) <= CELLS + 1, "only the session that the kill took is paid again"
    assert done.json["joint"][0]["arms"][0]["pairs"] == 6


@pytest.mark.slow
def test_claude_code_with_models_of_different_quality_and_cost_has_the_right_front(tmp_path: Path) -> None:
    stage = Stage(tmp_path, structs.replace(CLAUDE_CODE, model="claude_opus_5,claude_opus_4_5"))
    answers = {"claude-opus-5": "42", "claude-opus-4-5*": "41"}
    stage.task("first")
    for model, answer in answers.items():
        steps = (CLAUDE_CODE.call("skill"), CLAUDE_CODE.call("shell", f"echo {answer} > answer.txt"))
        stage.reply({"model": model}, *(says(step) for step in steps), says())
    done = stage.command("bench", "-m", "effort=low,high")
    assert done.code == 0, done.err
    dots = {(dot["model"], dot["effort"]): dot for dot in done.json["dots"]}
    assert len(dots) == 4
    assert all(dot["cost"]["value"] > 0 for dot in dots.values())
    quality = {dot["quality"]["value"] for (model, _), dot in dots.items() if model == "claude-opus-5"}
    assert quality == {1.0}
    assert all(dot["quality"]["value"] == 0.0 for (model, _), dot in dots.items() if model != "claude-opus-5")

"""`evolve rehearse` with a real agent: what would have failed after paying is said before, and nothing is paid."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.agent_dialects import PI
from tests.e2e.agent_rig import PLANTED, SKILL, Stage
from tests.e2e.commands import Done, run
from tests.e2e.real_agents import real_agent


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path, PI)
    stage.task("first")
    stage.task("second")
    return stage


def rehearse(stage: Stage, *overrides: str, keys: dict[str, str] = PLANTED) -> Done:
    suite = {"schema": "suite/1", "name": "mine", "tasks": stage.tasks}
    stage.write("suites/mine/suite.yaml", yaml.safe_dump(suite, sort_keys=False))
    skills = f"+skills.{SKILL}={{root: .claude/skills, mirrors: []}}"
    agent = ["agent=pi", f"agent.options.program={real_agent('pi').executable}", "model=claude_haiku_4_5"]
    words = ["suite=mine", "arms=mine", skills, *agent, *overrides]
    return run("evolve", "rehearse", "--json", *words, folder=stage.root, timeout=300, more=keys)


def faults(done: Done) -> dict[str, Any]:
    return {each["about"]: each["said"] for each in done.json["findings"] if each["level"] == "fault"}


def test_a_sound_configuration_is_rehearsed_on_one_task_for_each_arm_and_with_its_proposal(
    stage: Stage,
) -> None:
    done = rehearse(stage, "proposer=agent")
    assert done.code == 0, done.out
    assert done.json == {"cells": 1, "proposals": 1, "sound": True, "findings": []}
    assert not list((stage.root / "runs").glob("2*"))


def test_a_missing_key_is_told_and_the_cells_are_rehearsed_all_the_same(stage: Stage) -> None:
    done = rehearse(stage, keys={})
    assert (done.code, done.json["cells"]) == (4, 1)
    assert "ANTHROPIC_API_KEY is not set" in faults(done)["model"]


def test_an_effort_that_would_be_ignored_is_told_beside_other_faults(stage: Stage) -> None:
    done = rehearse(stage, "effort=xhigh", "model.id=claude-unheard-of-9")
    assert (done.code, done.json["cells"]) == (4, 1)
    assert "effort=xhigh would have no effect" in faults(done)["model"]
    assert "has no price" in faults(done)["price"]


def test_a_program_that_is_not_there_is_told(stage: Stage) -> None:
    stage.write("not-the-program", "")
    done = rehearse(stage, "agent.options.version=0.0.1", "agent.options.program=null")
    assert (done.code, done.json["cells"]) == (4, 0)
    assert "is not supported" in faults(done)["agent"]


def test_a_visible_check_that_cannot_be_run_is_told(stage: Stage) -> None:
    stage.tasks[0]["verify"] = "no-such-command --check"
    done = rehearse(stage)
    assert done.code == 4
    assert "cannot be run" in faults(done)["verify of first"]


def test_an_agent_without_a_model_is_refused(stage: Stage) -> None:
    done = run("evolve", "rehearse", "agent=rulebook", folder=stage.root)
    assert done.code == 2
    assert "cannot be rehearsed" in done.err

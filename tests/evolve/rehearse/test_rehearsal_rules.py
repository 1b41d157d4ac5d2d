"""The pure rules of a rehearsal: its script is a valid one, and what is found in its requests."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.config import ArmSpec, SessionSpec
from bench.gateway import read_script
from evolve.rehearse import GESTURES, rehearsal_script
from evolve.rehearse.findings import effort_finding
from evolve.rehearse.gestures import Gestures

PLAN = SessionSpec(kind="plan", prompt="p", order=1)
WORK = SessionSpec(kind="work", prompt="p", order=2, skills=("b",))
ARMS = {
    "no_skill": ArmSpec(role="control", sessions={"work": SessionSpec(kind="work", prompt="p")}),
    "direct": ArmSpec(role="incumbent", sessions={"plan": PLAN, "work": WORK}, skills=("a", "b")),
}


def script(agent: str) -> dict[str, Any]:
    return rehearsal_script(ARMS, GESTURES[agent], skills="/workspace/skills", output="/output")


@pytest.mark.parametrize("agent", GESTURES)
def test_the_script_is_one_that_the_gateway_reads(agent: str, tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script(agent)))
    assert read_script(file).replies


@pytest.mark.parametrize("agent", GESTURES)
def test_each_session_uses_its_skills_and_leaves_its_artifact(agent: str) -> None:
    told = {
        (rule["when"]["cell"], rule["when"]["session"], rule["when"]["turn"]): json.dumps(rule["reply"])
        for rule in script(agent)["replies"][:-1]
    }
    assert "/output/notes.md" in told["*/no_skill/*", "work", 0]
    assert "/output/plan.md" in told["*/direct/*", "plan", 1]
    assert "/output/notes.md" in told["*/direct/*", "work", 1]
    assert len(json.loads(told["*/direct/*", "plan", 0])["tools"]) == 2
    assert len(json.loads(told["*/direct/*", "work", 0])["tools"]) == 1


@given(st.text(max_size=30), st.text(max_size=30))
def test_whatever_is_written_arrives_as_it_is(path: str, content: str) -> None:
    call = Gestures(skill={}, write={"path": "<path>"}).put(path, content)
    assert call == {"path": path}


@pytest.mark.parametrize(
    "request_",
    [
        {"reasoning": {"effort": "low"}},
        {"reasoning_effort": "low"},
        {"output_config": {"effort": "low"}},
        {"thinking": {"budget_tokens": 2048}},
    ],
)
def test_an_effort_that_a_request_carries_is_no_fault(request_: dict[str, Any]) -> None:
    assert effort_finding("low", [{"model": "m"}, request_]) == []


@pytest.mark.parametrize(
    "request_", [{"model": "m"}, {"reasoning": {"effort": "high"}}, {"input": {"effort": "low"}}]
)
def test_an_effort_that_no_request_carries_is_a_fault(request_: dict[str, Any]) -> None:
    assert [each.level for each in effort_finding("low", [request_])] == ["fault"]
    assert effort_finding(None, [request_]) == []
    assert effort_finding("low", []) == []

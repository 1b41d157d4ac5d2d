"""Real agents that go on after a kill, and that live through a recorded run again without their provider."""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from bench.gateway.cassette import read_cassettes
from bench.results import Row
from bench.spend import JOURNAL, Reserved, read_journal
from tests.e2e.agent_dialects import CLAUDE_CODE, CODEX, agent_of
from tests.e2e.agent_rig import PLANTED, SKILL, USAGE, Dialect, Seen, Stage, says, total
from tests.e2e.commands import run, start

_LATE = 6  # seconds: longer than from the end of one session to the kill


@pytest.fixture(params=[CLAUDE_CODE, CODEX], ids=agent_of)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return request.param


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether it comes to hold within a minute."""
    deadline = time.monotonic() + 60
    while not (held := holds()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return held


def folder_of(root: Path) -> Path:
    return max((root / "runs").glob("2*"))


def ended(root: Path) -> list[str]:
    """The sessions that the journal of the project's only run knows."""
    lines = [line for path in root.glob("runs/2*/journal.jsonl") for line in path.read_text().splitlines()]
    return [entry["name"] for line in lines if (entry := json.loads(line))["type"] == "session"]


def test_a_cell_that_was_killed_after_its_first_session_pays_only_the_second_one(
    tmp_path: Path, dialect: Dialect
) -> None:
    stage = Stage(tmp_path, dialect)
    arms = yaml.safe_load((tmp_path / "conf/arms/mine.yaml").read_text())
    work = arms["direct"]["sessions"]["work"]
    plan = {**work, "kind": "plan", "prompt": "prompts/plan.md", "boundary": []}
    sessions = {"plan": plan, "work": {**work, "order": 2, "prompt": "prompts/work_from_plan.md"}}
    stage.write("conf/arms/mine.yaml", yaml.safe_dump({"direct": {**arms["direct"], "sessions": sessions}}))
    stage.task("one")
    stage.reply({"session": "plan"}, says(dialect.call("shell", "echo Write 42. > /output/plan.md")), says())
    write = dialect.call("shell", "cp /dev/null answer.txt; sed 's/[^0-9]//g' /plan/plan.md > answer.txt")
    stage.reply({"session": "work"}, says(dialect.call("skill"), delay=_LATE), says(write), says())
    stage.prepare()
    process = start("bench", *stage.overrides(), folder=tmp_path)
    try:
        assert eventually(lambda: ended(tmp_path) == ["plan"])
    finally:
        process.kill()
        process.communicate()
    folder = folder_of(tmp_path)
    assert not (folder / "results.jsonl").exists() or not (folder / "results.jsonl").read_bytes()
    seen = Seen(tmp_path, run("bench", "resume", folder.name, "--json", folder=tmp_path, more=PLANTED))
    row = seen.rows["one"]
    assert seen.end("one") == ("measured", None)
    assert {name: each.requests for name, each in row.sessions.items()} == {"plan": 2, "work": 3}
    assert {kind: getattr(row.usage, kind) for kind in USAGE} == total([USAGE] * 5)
    assert [each.session for each in read_cassettes(folder / "cassettes")].count("plan") == 2
    reserved = [each for each in read_journal(folder / JOURNAL) if isinstance(each, Reserved)]
    assert [each.session.session for each in reserved] == ["plan", "work", "work"]


def lasting(row: Row) -> tuple[object, ...]:
    """What of a row does not come from the clock or from where the answers came from."""
    return row.outcome, row.score, row.usage, row.sessions, row.reported, row.change, row.artifacts["patch"]


def test_a_recorded_run_is_lived_through_again_without_its_provider(tmp_path: Path, dialect: Dialect) -> None:
    stage = Stage(tmp_path, dialect)
    skill, answer = dialect.call("skill"), dialect.call("answer")
    stage.situation("right", says(skill), says(answer), says())
    stage.situation("wrong", says(skill), says(dialect.call("shell", "echo 41 > answer.txt")), says())
    recorded = stage.bench()
    (tmp_path / "script.yaml").write_text("none: of these\n")
    cassettes = recorded.folder / "cassettes"
    words = stage.overrides("model.upstream=replay", "model.script=null", f"model.cassettes={cassettes}")
    again = Seen(tmp_path, run("bench", *words, folder=tmp_path, timeout=300, more=PLANTED))
    assert again.folder != recorded.folder
    assert {task: row.outcome.kind for task, row in again.rows.items()} == {
        "right": None,
        "wrong": "oracle-failed",
    }
    for task, row in recorded.rows.items():
        assert lasting(again.rows[task]) == lasting(row)


@pytest.mark.slow
def test_a_recorded_generation_is_reproduced_in_another_folder_without_its_provider(
    tmp_path: Path, dialect: Dialect
) -> None:
    there = tmp_path / "there"
    there.mkdir()
    stage = Stage(there, dialect)
    arm = yaml.safe_load((there / "conf/arms/mine.yaml").read_text())["direct"]
    changed = {**arm, "role": "candidate", "candidate_of": "direct"}
    stage.write("conf/arms/mine.yaml", yaml.safe_dump({"direct": arm, "changed": changed}))
    skill = (there / f".claude/skills/{SKILL}/SKILL.md").read_text()
    stage.write(f"idea/.claude/skills/{SKILL}/SKILL.md", f"{skill}Write nothing else.\n")
    stage.situation("right", says(dialect.call("skill")), says(dialect.call("answer")), says())
    words = ("promotion=threshold_cost", "proposer=manual", "proposer.options.overlay=idea")
    recorded = stage.command("evolve", *words)
    assert recorded.code == 0, recorded.err
    elsewhere = Path(shutil.copytree(there, tmp_path / "elsewhere", symlinks=True))
    (elsewhere / "script.yaml").unlink()
    shutil.rmtree(there, ignore_errors=True)
    told = run(
        "evolve", "reproduce", recorded.json["run"], "--replay", "--json", folder=elsewhere, timeout=300
    )
    assert told.code == 0, told.err + told.out
    assert (told.json["outcome"], told.json["rows"]) == ("identical", 2)
    assert told.json["verdict"] == told.json["now"]

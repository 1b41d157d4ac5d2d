"""Looks inside a sweep, by the real commands: what is not needed is not measured, whatever happens meanwhile."""

import json
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from bench.results import read_rows
from bench.sweep import read_plan
from evolve.cli import main
from evolve.gate import read_promotion, recompute
from tests.bench.cells.cell_project import skill_text
from tests.chaos.case import NEVER, Case, Point, faults, stop_faults
from tests.chaos.chaos_project import ChaosProject
from tests.chaos.looking import FUTILE, words_of

Output = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChaosProject:
    """Two tasks; the candidate takes a quarter of the turns, and resolves what the incumbent does."""
    made = ChaosProject(tmp_path, "host", kinds=("work",))
    made.words = words_of(made)
    monkeypatch.chdir(made.root)
    return made


def evolve(capsys: Output, *words: str, code: int = 0) -> Any:
    """The generation that a command made, as data."""
    capsys.readouterr()
    assert main([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out)["generations"][0]


def looks(run: Path) -> list[Any]:
    path = run / "gen-1" / "looks.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("workers", [1, 4])
def test_a_sweep_ends_at_the_look_that_shows_it(project: ChaosProject, capsys: Output, workers: int) -> None:
    found = evolve(capsys, *project.words, f"workers={workers}")
    assert (found["decision"], found["paid"], found["reused"]) == ("promote", 8, 0)
    assert [look["stopping"]["arms"] for look in looks(project.run)] == [[], ["work", "candidate_work"]]
    rows, _ = read_rows(project.run / "gen-1" / "results.jsonl")
    plan, _ = read_plan(project.run / "gen-1" / "plan.json")
    assert [row.key for row in rows] == [cell.key for cell in plan.cells[:8]]
    assert [look.repeats for look in plan.planned_looks] == [1, 2, 3, 4]
    promotion = read_promotion(project.run / "gen-1" / "promotion.json")
    assert recompute(promotion) == promotion.verdict
    assert "12 cells were spared" in (project.run / "gen-1" / "report.md").read_text()
    assert main(["topup", project.run.name]) == 2
    assert "nothing to top up" in capsys.readouterr().err
    assert main(["apply", project.run.name]) == 2
    refused = capsys.readouterr().err
    assert "tier=search" in refused
    assert "partial" not in refused


def test_a_sweep_that_is_futile_keeps_the_incumbent_after_one_look(
    project: ChaosProject, capsys: Output
) -> None:
    found = evolve(capsys, *project.words, *FUTILE)
    assert (found["decision"], found["paid"]) == ("keep_incumbent", 4)
    assert any("futile" in reason for reason in found["reasons"])


def test_no_look_is_taken_at_a_sweep_that_was_stopped_and_it_goes_on_to_the_same_end(
    project: ChaosProject, capsys: Output
) -> None:
    project.breaks("all")
    stopped = evolve(capsys, *project.words, "retries=0", "breaker=3", code=1)
    assert (stopped["decision"], looks(project.run)) == ("insufficient_evidence", [])
    project.breaks(None)
    assert evolve(capsys, "resume", project.run.name)["decision"] == "promote"
    assert len(looks(project.run)) == 2


@pytest.mark.parametrize("point", ["look torn 1", "look after 2", "append after 5", "session after 9"])
def test_a_run_that_is_killed_or_interrupted_around_a_look_decides_the_same(
    tmp_path: Path, point: str
) -> None:
    expected = _case(tmp_path / "undisturbed").undisturbed()
    case = _case(tmp_path / "killed")
    phase, moment, number = point.split()
    if phase == "session":
        found = stop_faults(case, Point(phase, moment, int(number), "SIGINT"), expected)
    else:
        found = faults(case, [Point(phase, moment, int(number))], expected)
    assert list(found) == []
    assert len(case.kills) == 1
    assert len(looks(case.project.run)) == 2


def _case(folder: Path) -> Case:
    case = Case(folder, "host", ("work",))
    case.project.words = words_of(case.project)
    return case


@pytest.mark.parametrize(("text", "again"), [("Briefly, again.", 3), ("At length, please.", 0)])
def test_the_reused_incumbent_is_measured_again_only_for_a_candidate_that_is_better_than_it(
    project: ChaosProject, capsys: Output, text: str, again: int
) -> None:
    """Of 4 reused cells of the incumbent, one is a canary anyway."""
    plain = unlooked(project.words)
    evolve(capsys, *plain)
    first = project.run
    propose(project, text)
    found = evolve(capsys, *plain, "proposer.unapplied=ignore")
    (run,) = (path.parent for path in project.root.glob("runs/*/config.json") if path.parent != first)
    plan, _ = read_plan(run / "gen-1" / "plan.json")
    assert len(plan.concurrent_cells) == 3
    assert (found["paid"], found["reused"]) == (5 + again, 3 - again)
    assert found["decision"] == ("promote" if again else "keep_incumbent")
    promotion = read_promotion(run / "gen-1" / "promotion.json")
    assert recompute(promotion) == promotion.verdict
    assert promotion.evidence.sources() == (5 + again, 3 - again)
    assert main(["apply", run.name]) == 2
    refused = capsys.readouterr().err
    assert "restore" not in refused
    _forget(run)
    assert evolve(capsys, "resume", run.name)["decision"] == found["decision"]
    assert read_promotion(run / "gen-1" / "promotion.json").verdict == promotion.verdict
    evolve(capsys, *plain, "proposer.unapplied=ignore")
    latest = max(project.root.glob("runs/*/gen-1/plan.json"), key=lambda path: path.stat().st_mtime_ns)
    assert read_plan(latest)[0].counts()["fresh"] == 0, "what was measured once more stands as it is now"


def test_a_kill_among_concurrent_cells_pays_no_session_again(tmp_path: Path) -> None:
    case = _case(tmp_path / "case")
    project = case.project
    words = [*unlooked(project.words), "workers=1", "proposer.unapplied=ignore"]
    assert case.evolve(NEVER, *words).returncode == 0
    first, before = project.run, len(project.starts())
    propose(project, "Briefly, again.")
    assert case.evolve(Point("journal", "after", 14), *words).returncode == -SIGKILL
    (run,) = (path.parent for path in project.root.glob("runs/*/config.json") if path.parent != first)
    begun = len(project.starts())
    assert begun == before + 13, (
        "a line of the journal names its plan; 10 sessions are not of concurrent cells"
    )
    assert case.evolve(NEVER, "resume", run.name).returncode == 0
    assert len(project.starts()) == before + 16
    assert read_promotion(run / "gen-1" / "promotion.json").decision == "promote"


def unlooked(words: list[str]) -> list[str]:
    """Two repeats, and no look inside the sweep."""
    return [
        *(
            word
            for word in words
            if not word.startswith(("workers=", "repeats=", "promotion.options.looks="))
        ),
        "repeats=2",
    ]


def propose(project: ChaosProject, text: str) -> None:
    """The next candidate says something else."""
    skill = project.root / "proposed/.claude/skills/craft/SKILL.md"
    skill.write_text(skill_text("craft", text))


def _forget(run: Path) -> None:
    """The run as it was before it was decided, but after its last row."""
    for name in ("promotion.json", "report.md"):
        (run / "gen-1" / name).unlink()
    (run / "lock").unlink()

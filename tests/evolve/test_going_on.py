"""`evolve`, then `evolve resume` and `evolve topup`, by their own commands: what goes on decides as what was not stopped."""

import json
from pathlib import Path
from typing import Any

import pytest

from evolve.cli import main
from tests.chaos.chaos_project import ChaosProject

Output = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChaosProject:
    """A small project whose candidate is promoted."""
    made = ChaosProject(tmp_path, "host", kinds=("work",))
    monkeypatch.chdir(made.root)
    return made


def shown(capsys: Output, *words: str, code: int = 0) -> Any:
    """What a command printed as data."""
    capsys.readouterr()
    assert main([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def undecided(run: Path) -> None:
    """The run as it was before its first cells were in their place."""
    for name in ("promotion.json", "report.md", "results.jsonl"):
        (run / "gen-1" / name).unlink()
    (run / "lock").unlink()


def test_a_run_that_was_stopped_before_its_rows_decides_the_same_without_a_session(
    project: ChaosProject, capsys: Output
) -> None:
    first = shown(capsys, *project.words)
    starts = project.starts()
    undecided(project.run)
    again = shown(capsys, "resume", project.run.name)
    assert again["generations"][0]["decision"] == first["generations"][0]["decision"] == "promote"
    assert project.starts() == starts


def test_a_run_that_ended_is_shown_again(project: ChaosProject, capsys: Output) -> None:
    first = shown(capsys, *project.words)
    assert shown(capsys, "resume", project.run.name)["generations"] == first["generations"]
    assert main(["topup", project.run.name]) == 2
    assert "g to top up: all 4 cells were measured" in capsys.readouterr().err


def test_cells_that_an_outage_took_are_topped_up(project: ChaosProject, capsys: Output) -> None:
    project.breaks("work brief")
    first = shown(capsys, *project.words, "breaker=0")
    assert first["generations"][0]["decision"] == "insufficient_evidence"
    project.breaks(None)
    assert shown(capsys, "topup", project.run.name)["generations"][0]["decision"] == "promote"


def test_a_run_that_is_not_there_is_refused_with_those_that_are(
    project: ChaosProject, capsys: Output
) -> None:
    shown(capsys, *project.words)
    assert main(["resume", "nothing-of-it"]) == 2
    said = capsys.readouterr().err
    assert "nothing-of-it" in said
    assert "Traceback" not in said

"""A stranger's repository becomes a project in one command, or nothing of it is touched."""

import os
from pathlib import Path

import pytest

import bench.cli
import evolve.cli
from bench.exits import ExitCode
from tests.bench.newtask.small_history import RIGHT, TEST, WRONG, begin, commit


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return begin(tmp_path / "shop")


def init(root: Path) -> int:
    return evolve.cli.main(["init", "--root", str(root)])


def test_a_repository_becomes_a_project_whose_task_is_certified(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit(repository, "Count each thing as often as it is there", RIGHT)
    commit(repository, "Say more", {"README.md": "More.\n"})
    assert init(repository) == ExitCode.VERDICT
    capsys.readouterr()
    words = ["--root", str(repository)]
    assert evolve.cli.main(["plan", *words]) == ExitCode.VERDICT, "its policy asks for the certificate"
    assert "3 arms (candidate, no_skill, skill)" in capsys.readouterr().out
    assert init(repository) == ExitCode.REQUEST
    assert "is a project already" in capsys.readouterr().err
    assert bench.cli.main(["config", *words, "which", "promotion/certified"]) == ExitCode.VERDICT


def test_nothing_is_written_where_it_cannot_be_done(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refusal(root: Path) -> str:
        before = sorted(os.listdir(root))
        assert init(root) == ExitCode.REQUEST
        assert sorted(os.listdir(root)) == before
        return capsys.readouterr().err

    assert "1 x it is the first commit" in refusal(repository)
    commit(repository, "Break", {TEST: WRONG[TEST].replace("350)", "351)")})
    commit(repository, "Count each thing as often as it is there", {**RIGHT})
    assert "does not pass its own tests" in refusal(repository)
    (repository / "conf").mkdir()
    assert "has a conf already" in refusal(repository)
    without = begin(tmp_path / "without", {"shelf.py": "x = 1\n"})
    assert "holds no tests" in refusal(without)
    (tmp_path / "nothing").mkdir()
    assert "is not the top folder of a git repository" in refusal(tmp_path / "nothing")

"""Several generations of the starter project, with the agent `rulebook`: killed between them and within the second."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.case import PROGRAM, Point
from tests.e2e.commands import environment, starter_root

pytestmark = pytest.mark.e2e
TOP = Path(__file__).parents[2]
WORDS = ("generations=2", "tasks.split=train", "tasks.class=review-defect", "tasks.id='review-[a-d]*'")


def evolve(folder: Path, point: Point, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(PROGRAM), *point.words, "evolve", *words],
        cwd=folder,
        env=environment(PYTHONPATH=str(TOP)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def verdicts(folder: Path) -> list[Any]:
    promotions = sorted(starter_root(folder).glob("runs/2*/gen-*/promotion.json"))
    return [json.loads(path.read_bytes())["verdict"] for path in promotions]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    folder = tmp_path_factory.mktemp("undisturbed")
    done = evolve(folder, Point("never", "never"), *WORDS)
    assert done.returncode == 0, done.stderr
    assert len(verdicts(folder)) == 2
    return verdicts(folder)


@pytest.mark.parametrize(
    "point", [Point("report", "after", 1), Point("plan", "before", 2), Point("append", "after", 9)]
)
def test_a_run_of_two_generations_decides_the_same_wherever_it_was_killed(
    tmp_path: Path, undisturbed: list[Any], point: Point
) -> None:
    assert evolve(tmp_path, point, *WORDS).returncode == -signal.SIGKILL
    (run,) = starter_root(tmp_path).glob("runs/2*")
    done = evolve(tmp_path, Point("never", "never"), "resume", run.name, "--json")
    assert done.returncode == 0, done.stderr
    assert verdicts(tmp_path) == undisturbed
    assert [each["generation"] for each in json.loads(done.stdout)["generations"]] == [1, 2]
    assert len(list(starter_root(tmp_path).glob("runs/2*"))) == 1


def test_a_suite_that_was_changed_between_generations_is_refused_before_the_next_one(tmp_path: Path) -> None:
    assert evolve(tmp_path, Point("report", "after", 1), *WORDS).returncode == -signal.SIGKILL
    (run,) = starter_root(tmp_path).glob("runs/2*")
    prompt = starter_root(tmp_path) / "suites/starter/prompts/review.md"
    prompt.write_text(prompt.read_text() + "\nQuickly.\n")
    done = evolve(tmp_path, Point("never", "never"), "resume", run.name)
    assert done.returncode == 2, done.stderr
    assert "gen-1 cannot go on: what its cells depend on was changed since\n  the suite: " in done.stderr
    assert not (run / "gen-2").exists()

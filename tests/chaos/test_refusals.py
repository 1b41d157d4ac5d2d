"""What cannot be gone on with is refused before anything is paid, by name, with what to do instead."""

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.exits import ExitCode
from bench.project import RunFolder, hold_run
from tests.chaos.case import NEVER, Case, Point
from tests.chaos.remains import lines, verdict

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A run that was killed when a row and a few sessions were there."""
    case = Case(tmp_path_factory.mktemp("killed") / "case", "host")
    assert case.evolve(Point("append", "after", 2), *case.project.words).returncode == -signal.SIGKILL
    return case


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A run that came to its end, with a promotion."""
    case = Case(tmp_path_factory.mktemp("ended") / "case", "host", ("work",))
    assert case.evolve(NEVER, *case.project.words).returncode == 0
    return case


@pytest.fixture
def restored(killed: Case, tmp_path: Path) -> Any:
    """Puts the project of `killed` back as it was."""
    shutil.copytree(killed.project.root, tmp_path / "kept", symlinks=True)
    yield killed
    for path in killed.project.root.rglob("*"):
        if path.is_dir():
            path.chmod(0o700)
    shutil.rmtree(killed.project.root)
    shutil.copytree(tmp_path / "kept", killed.project.root, symlinks=True)


def refused(case: Case, *words: str) -> str:
    """What a command says that refuses to go on, and leaves everything as it is."""
    starts = case.project.starts()
    done = case.evolve(NEVER, *words)
    assert done.returncode == ExitCode.REQUEST, done.stderr
    assert "Traceback" not in done.stderr
    assert case.project.starts() == starts, "nothing is paid"
    return done.stderr


def append(path: str, text: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / path).write_text((root / path).read_text() + text)

    return change


def without_task(root: Path) -> None:
    path = root / "suites/mine/suite.yaml"
    before, _, _ = path.read_text().partition("- id: two")
    path.write_text(before)


CHANGES = {
    "the suite: ": append("suites/mine/prompts/do.md", "Quickly.\n"),
    "the suite:  ": without_task,
    "agent (seen in task review, arm review): ": append("agent.py", "\n# changed\n"),
    "the skills that it changes are no longer as they were": append(
        ".claude/skills/craft/SKILL.md", "Always.\n"
    ),
}


@pytest.mark.parametrize("told", CHANGES)
def test_what_was_changed_since_is_named_and_a_new_run_is_offered(restored: Case, told: str) -> None:
    CHANGES[told](restored.project.root)
    said = refused(restored, "resume", restored.project.run.name)
    assert "cannot go on" in said
    assert told.rstrip() in said
    assert "start a new run" in said


def test_what_was_changed_is_named_also_before_there_is_any_row(tmp_path: Path) -> None:
    case = Case(tmp_path / "case", "host")
    assert case.evolve(Point("journal", "after", 2), *case.project.words).returncode == -signal.SIGKILL
    assert not lines(case.project.run / "gen-1" / "results.jsonl")
    append("agent.py", "\n# changed\n")(case.project.root)
    assert "agent (seen in task review" in refused(case, "resume", case.project.run.name)


def test_a_saved_configuration_that_was_edited_is_refused(restored: Case) -> None:
    path = restored.project.run / "config.json"
    path.write_text(path.read_text().replace('"retries": 1', '"retries": 3'))
    said = refused(restored, "resume", restored.project.run.name)
    assert "config.json was changed after the run wrote it" in said
    assert "start a new run" in said


def test_only_one_process_goes_on_with_a_run(killed: Case) -> None:
    with hold_run(RunFolder(killed.project.run), "evolve resume"):
        said = refused(killed, "resume", killed.project.run.name)
    assert "is being worked on: by process" in said
    assert "wait for it to end" in said


def test_a_run_of_evolve_is_not_gone_on_with_by_bench(killed: Case) -> None:
    done = killed.run("bench", NEVER, "resume", killed.project.run.name)
    assert done.returncode == ExitCode.REQUEST
    assert f"is one of evolve\n  go on with it: evolve resume {killed.project.run.name}" in done.stderr


def test_a_run_of_bench_is_gone_on_with_by_bench_alone(tmp_path: Path) -> None:
    case = Case(tmp_path / "case", "host")
    words = [word for word in case.project.words if not word.startswith(("proposer", "promotion"))]
    assert case.run("bench", Point("append", "after", 1), *words).returncode == -signal.SIGKILL
    for command in ("resume", "topup"):
        said = refused(case, command, case.project.run.name)
        assert (
            f"is one of bench, which decides nothing\n  go on with it: bench resume {case.project.run.name}"
            in said
        )
    done = case.run("bench", NEVER, "resume", case.project.run.name)
    assert done.returncode == 0, done.stderr
    rows = lines(case.project.run / "results.jsonl")
    assert [row["outcome"]["resolved"] for row in rows] == [True] * 3


@pytest.mark.parametrize("moment", ["before", "unnamed"])
def test_a_bench_run_without_a_plan_has_nothing_to_go_on_with(tmp_path: Path, moment: str) -> None:
    case = Case(tmp_path / "case", "host")
    words = [word for word in case.project.words if not word.startswith(("proposer", "promotion"))]
    assert case.run("bench", Point("plan", moment), *words).returncode == -signal.SIGKILL
    done = case.run("bench", NEVER, "resume", case.project.run.name)
    assert done.returncode == ExitCode.REQUEST
    assert (
        "was killed before its plan was sealed: nothing of it was measured\n  start a new run" in done.stderr
    )


def edit(name: str, before: str, after: str) -> Callable[[Path], None]:
    def change(run: Path) -> None:
        text = (run / name).read_text()
        assert before in text
        (run / name).write_text(text.replace(before, after, 1))

    return change


def edit_overlay(run: Path) -> None:
    (path,) = (run / "gen-1" / "overlay").rglob("SKILL.md")
    path.chmod(0o600)
    path.write_text(path.read_text() + "More.\n")


DAMAGES = {
    "plan.json: schema_version 1 is not supported": edit(
        "gen-1/plan.json", '"schema_version":2', '"schema_version":1'
    ),
    "plan.json cannot be read: it is not a plan of this version": edit(
        "gen-1/plan.json", '"cells":', '"cell":'
    ),
    "journal.jsonl belongs to plan": edit("gen-1/plan.json", '"seed":0', '"seed":1'),
    "journal.jsonl, line 2 is no entry of a journal": edit(
        "gen-1/journal.jsonl", '"attempt":0', '"attempt":"x"'
    ),
    "schema_version 9 of the journal is not supported": edit(
        "gen-1/journal.jsonl", '"schema_version":1', '"schema_version":9'
    ),
    "results.jsonl, line 1 is not a row": edit("gen-1/results.jsonl", '"attempt":0', '"attempt":"x"'),
    "spend.jsonl, line 1": edit("spend.jsonl", '"prices"', '"price"'),
    "is no saved configuration of this version": edit("config.json", '"config/1"', '"config/0"'),
    "has no config.json: it was killed before it began": lambda run: (run / "config.json").unlink(),
    "is not the overlay that plan.json names": edit_overlay,
    "has rows, but no plan.json": lambda run: (run / "gen-1/plan.json").unlink(),
}


@pytest.mark.parametrize("told", DAMAGES)
def test_what_is_damaged_or_of_another_version_is_named(restored: Case, told: str) -> None:
    name = restored.project.run.name
    DAMAGES[told](restored.project.run)
    said = refused(restored, "resume", name)
    assert told in said
    assert "\n  " in said, "says what to do"


def test_a_run_that_ended_is_read_back_with_the_same_result(ended: Case) -> None:
    champion = (ended.project.run / "champion").stat().st_mtime_ns
    before = {path: path.read_bytes() for path in ended.project.run.rglob("*") if path.is_file()}
    done = ended.evolve(NEVER, "resume", ended.project.run.name, "--json")
    assert done.returncode == 0, done.stderr
    assert "came to its end: nothing is left to measure" in done.stderr
    summary = json.loads(done.stdout)
    assert (summary["decision"], summary["champion"]) == ("promote", str(ended.project.run / "champion"))
    after = {path: path.read_bytes() for path in ended.project.run.rglob("*") if path.is_file()}
    assert {path.name for path in after if before.get(path) != after[path]} == {"lock"}
    assert before.keys() == after.keys()
    assert (ended.project.run / "champion").stat().st_mtime_ns == champion


def test_a_run_that_ended_says_what_it_decided_whatever_became_of_the_suite(ended: Case) -> None:
    decided, path = verdict(ended.project.run), ended.project.root / "suites/mine/suite.yaml"
    text = path.read_text()
    path.write_text(text.replace("split: train", "split: holdout"))
    done = ended.evolve(NEVER, "resume", ended.project.run.name, "--json")
    path.write_text(text)
    assert (done.returncode, json.loads(done.stdout)["decision"]) == (0, "promote"), done.stderr
    assert verdict(ended.project.run) == decided


def test_there_is_nothing_to_top_up_where_all_was_measured(ended: Case) -> None:
    said = refused(ended, "topup", ended.project.run.name)
    assert "has nothing to top up: all 4 cells were measured" in said
    assert "start a new run with more repeats" in said


def test_an_interrupted_generation_is_gone_on_with_before_it_is_topped_up(killed: Case) -> None:
    name = killed.project.run.name
    assert (
        f"was interrupted: there is no decision on it yet\n  go on with it first: evolve resume {name}"
        in refused(killed, "topup", name)
    )

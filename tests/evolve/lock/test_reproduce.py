"""A generation done again: from its files, from its cassettes, and what is told where something is no longer as it was."""

import json
import shutil
from pathlib import Path

import jsonschema
import pytest
from sealed_project import TASK, Provider, ask, edit_suite, the_run

from bench.config import load_schema
from bench.digest import canonical_json, digest_tree
from bench.results import read_rows


def generation(root: Path, number: int = 2) -> str:
    return f"{the_run(root).name}/gen-{number}"


def test_what_was_not_touched_is_identical_and_nothing_of_it_is_written_to(
    sealed: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = digest_tree(sealed / "runs")
    told = ask(capfd, sealed, "reproduce", generation(sealed))
    assert told.code == 0, told.err + told.out
    assert told.json["outcome"] == "identical"
    assert told.json["verdict"] == told.json["now"]
    assert told.json["scores"] == told.json["rows"] == 4
    assert digest_tree(sealed / "runs") == before


def test_a_recorded_generation_is_lived_through_again_elsewhere_without_key_or_provider(
    sealed: Path, served: Provider, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(served, "open", False)
    asked, run = served.asked, the_run(sealed)
    before = digest_tree(run)
    told = ask(capfd, sealed, "reproduce", generation(sealed), "--replay")
    assert told.code == 0, told.err + told.out
    assert (told.json["outcome"], told.json["verdict"]) == ("identical", told.json["now"])
    assert served.asked == asked
    assert digest_tree(run) == before
    new = sealed / "runs" / told.json["run"]
    then, now = (read_rows(each / "gen-2" / "results.jsonl")[0] for each in (run, new))
    assert [(row.key, row.outcome, row.score, row.usage) for row in then] == [
        (row.key, row.outcome, row.score, row.usage) for row in now
    ]
    assert not (new / "gen-2" / "promotion.json").exists(), "nobody takes over what was only replayed"
    assert json.loads((new / "reproduction.json").read_bytes()) == told.json
    again = ask(capfd, sealed, "reproduce", new.name)
    assert (again.code, f"evolve reproduce {generation(sealed)}" in again.err) == (6, True)


def test_cassettes_of_another_generation_are_refused(sealed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    others = the_run(sealed) / "gen-1" / "cassettes"
    runs = sorted((sealed / "runs").iterdir())
    told = ask(capfd, sealed, "reproduce", generation(sealed), "--replay", "--cassettes", str(others))
    assert told.code == 6
    assert "does not hold the cassettes of" in told.err
    assert "--cassettes DIR" in told.err
    assert sorted((sealed / "runs").iterdir()) == runs


def test_a_cassette_that_was_changed_is_named(sealed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first = min((the_run(sealed) / "gen-2" / "cassettes").iterdir())
    first.write_bytes(first.read_bytes() + b"\0")
    told = ask(capfd, sealed, "reproduce", generation(sealed))
    assert told.drifted == {"cassette"}
    assert told.code == 5


def test_a_score_that_does_not_follow_from_its_review_is_named(
    sealed: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = the_run(sealed) / "gen-2" / "results.jsonl"
    lines = path.read_bytes().splitlines()
    row = json.loads(lines[0])
    row["score"]["verdict_right"] = False
    path.write_bytes(b"\n".join([canonical_json(row), *lines[1:]]) + b"\n")
    told = ask(capfd, sealed, "reproduce", generation(sealed))
    assert {"score", "row"} <= told.drifted
    assert told.code == 5


def test_scores_of_tasks_whose_labels_are_others_are_not_computed_from_those(
    sealed: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = sealed / "suites/starter/labels/split-bill.json"
    path.write_bytes((sealed / "suites/starter/labels/count-sheet.json").read_bytes())
    edit_suite(sealed, TASK, change="changes/count-sheet.patch", **{"class": "review-defect"})
    told = ask(capfd, sealed, "reproduce", generation(sealed))
    assert told.drifted == {"oracle", "suite"}
    assert (told.json["scores"], told.json["not_scored"]) == (0, 4)


def test_an_artifact_that_is_gone_makes_a_generation_irreproducible(
    sealed: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(sealed / "runs" / "objects")
    told = ask(capfd, sealed, "reproduce", generation(sealed))
    assert told.code == 6
    assert "is missing" in told.err
    assert "bench store import" in told.err


def test_a_skill_that_is_another_one_now_keeps_a_generation_from_being_run_again(
    sealed: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = sealed / ".claude/skills/code-review/SKILL.md"
    path.write_text(path.read_text() + "\nMore.\n")
    told = ask(capfd, sealed, "reproduce", generation(sealed), "--replay")
    assert told.code == 6
    assert "is not the one that was measured" in told.err


def test_a_suite_that_cannot_be_read_is_told_and_hides_no_other_drift(
    sealed: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (sealed / "suites/starter/suite.yaml").write_text("tasks: [")
    with (sealed / "agent.py").open("a") as file:
        file.write("# more\n")
    told = ask(capfd, sealed, "lock", "verify", generation(sealed))
    assert told.drifted == {"suite", "agent"}


def test_the_words_of_a_run_composed_again_show_what_they_come_to_today(
    sealed: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    same = ask(capfd, sealed, "recipe", the_run(sealed).name)
    assert (same.code, same.json["same"], same.json["files"]) == (0, True, [])
    path = sealed / "conf/budget/mine.yaml"
    path.write_text(path.read_text().replace("0.01", "0.02"))
    other = ask(capfd, sealed, "recipe", the_run(sealed).name)
    assert other.code == 5
    assert other.json["values"] == [
        {"key": "budget.unpriced", "first": "0.01", "second": "0.02", "origin": "conf/budget/mine.yaml"}
    ]
    assert [each["name"] for each in other.json["files"]] == ["conf/budget/mine.yaml"]


def test_two_generations_side_by_side(sealed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = ask(capfd, sealed, "diff", generation(sealed, 1), generation(sealed, 2))
    assert told.code == 0
    assert told.json["configuration"] == []
    assert {each["kind"] for each in told.json["provenance"]} == {"overlay", "parent", "plan"}
    assert [each["task"] for each in told.json["tasks"]] == ["review-split-bill"]
    edit_suite(sealed, "review-scheduler-state", critical=True)
    assert ask(capfd, sealed, "diff", generation(sealed, 1), generation(sealed, 2)).json == told.json


def test_what_reproduce_says_fits_its_schema(sealed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, words in {
        "reproduction": ("reproduce", generation(sealed)),
        "lock-verified": ("lock", "verify", generation(sealed)),
        "recipe": ("recipe", the_run(sealed).name),
        "run-difference": ("diff", generation(sealed, 1), generation(sealed, 2)),
    }.items():
        jsonschema.validate(ask(capfd, sealed, *words).json, load_schema(name))

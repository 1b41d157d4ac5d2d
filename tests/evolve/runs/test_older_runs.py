"""A run that version 8a2fccb wrote, with rows of schema 1: read, or refused by name; never misread."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from old_project import BENCH_RUN, EVOLVE_RUN, edit_json, old_project, run_of

from bench.archive import export_run, import_run, verify_store
from bench.config import read_saved_config
from bench.errors import ConfigError, RunError, UserError
from bench.project import unpack_starter
from bench.results import read_rows
from bench.sweep import open_measured, read_plan
from evolve.apply import Tools, apply_run, exchange_entries
from evolve.errors import PromotionError
from evolve.gate import read_promotion
from evolve.runs import read_runs

TOOLS = Tools(
    exchange=exchange_entries,
    observe=lambda _step: None,
    token="0123abcd",
    now=datetime(2026, 12, 1, tzinfo=UTC),
)


def test_its_rows_are_rows_that_their_own_run_measured(root: Path) -> None:
    rows, torn = read_rows(run_of(root).path / "gen-1" / "results.jsonl")
    assert [(row.schema_version, row.reuse, row.identity.arm) for row in rows] == [
        (1, None, arm) for arm in ("no_skill", "review", "candidate_review")
    ]
    assert all(row.measured_at == row.finished_at for row in rows)
    assert not torn


def test_it_is_listed_verified_and_moved_like_any_other(root: Path, tmp_path: Path) -> None:
    assert [(run.run, run.state) for run in read_runs(root).runs] == [(EVOLVE_RUN, "finished"), (BENCH_RUN, "finished")]
    assert verify_store(root).sound
    export_run(run_of(root), tmp_path / "old.tar.gz")
    (tmp_path / "other").mkdir()
    assert import_run(tmp_path / "other", tmp_path / "old.tar.gz").outcome == "imported"


def test_its_configuration_is_refused_by_name_with_what_to_do(root: Path) -> None:
    with pytest.raises(ConfigError) as refusal:
        read_saved_config(run_of(root).path / "config.json")
    said = str(refusal.value)
    assert "config.json was written by another version of incumbent" in said
    assert "whose settings were others:\n  config." in said
    assert "use that version for this run, or start a new one" in said


def test_a_configuration_that_was_edited_is_still_told_apart_from_an_older_one(root: Path) -> None:
    path = run_of(root).path / "config.json"
    edit_json(path, lambda content: content["config"].update(seed="x"))
    with pytest.raises(ConfigError) as refusal:
        read_saved_config(path)
    assert "another version" not in str(refusal.value)


@pytest.mark.parametrize("command", ["apply", "debug"])
def test_what_needs_its_configuration_refuses_it_by_name_and_changes_nothing(command: str, tmp_path: Path) -> None:
    root = unpack_starter(tmp_path)
    skill = root / ".claude" / "skills" / "code-review" / "SKILL.md"
    before = skill.read_bytes()
    run = run_of(old_project(root))
    with pytest.raises(UserError, match="written by another version of incumbent"):
        apply_run(root, run, TOOLS) if command == "apply" else open_measured(root, run.id)
    assert skill.read_bytes() == before


@pytest.mark.parametrize("version", [0, 99])
def test_a_row_of_a_version_that_is_not_known_is_refused_by_name(root: Path, version: int) -> None:
    path = run_of(root).path / "gen-1" / "results.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"schema_version":1', f'"schema_version":{version}'.encode(), 1))
    with pytest.raises(RunError, match=f"line 1: schema_version {version} is not supported.*\n.*the version of incumbent"):
        read_rows(path)


@pytest.mark.parametrize("version", [0, 99])
def test_a_plan_of_a_version_that_is_not_known_is_refused_by_name(root: Path, version: int) -> None:
    path = run_of(root).path / "gen-1" / "plan.json"
    edit_json(path, lambda content: content.update(schema_version=version))
    with pytest.raises(RunError, match=f"schema_version {version} is not supported.*\n.*the version of incumbent"):
        read_plan(path)


def test_a_promotion_of_a_future_version_is_refused_by_name(root: Path) -> None:
    path = run_of(root).path / "gen-1" / "promotion.json"
    edit_json(path, lambda content: content.update(schema_version=99))
    with pytest.raises(PromotionError, match="schema_version 99 is not supported.*\n.*the version of incumbent"):
        read_promotion(path)


def test_a_configuration_of_a_future_version_is_refused_by_name(root: Path) -> None:
    path = run_of(root).path / "config.json"
    edit_json(path, lambda content: content.update(schema="config/99"))
    with pytest.raises(ConfigError, match="schema is 'config/99'.*\n.*the version of incumbent"):
        read_saved_config(path)

"""Earlier runs that are not as they should be: a named one is refused with the reason, another is passed over."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from cell_project import CellProject
from msgspec import structs
from reusing import Reusing, measured_once

from bench.archive import collect_garbage
from bench.cli import main
from bench.errors import RunError
from bench.harness import read_harness
from bench.project import list_runs
from bench.results import read_rows
from bench.reuse import DRIFT, read_drift
from bench.sweep import with_reuse
from evolve.runs import Limits, prune


@pytest.fixture
def measured(project: CellProject, capsys: pytest.CaptureFixture[str]) -> Reusing:
    return measured_once(project, capsys)


def test_a_second_run_pays_for_nothing_and_says_so(measured: Reusing) -> None:
    first = measured.folder
    again = measured.run()
    assert (again["cells"], again["paid"], again["reused"]) == (4, 0, 4)
    rows, _ = read_rows(measured.folder / "results.jsonl")
    before, _ = read_rows(first / "results.jsonl")
    assert [(row.key, row.outcome, row.artifacts) for row in rows] == [
        (row.key, row.outcome, row.artifacts) for row in before
    ]
    assert all(
        row.reuse and row.measured_at == old.finished_at for row, old in zip(rows, before, strict=True)
    )
    assert f"4 rows are those of `{first.name}`" in Path(again["report"]).read_text()


@pytest.mark.parametrize("how", ["{id}", "runs/{id}", "{id}/"])
def test_a_run_is_named_by_its_id_or_its_folder(measured: Reusing, how: str) -> None:
    name = how.format(id=measured.folder.name)
    assert measured.run(f"reuse.from={name}")["reused"] == 4


def test_reuse_from_none_measures_everything(measured: Reusing) -> None:
    assert measured.run("reuse=none")["paid"] == 4
    assert set(measured.reasons) == {"reuse-off"}


def test_a_run_that_does_not_exist_is_refused(measured: Reusing) -> None:
    assert "there is no run '20990101T'" in measured.refused("20990101T")


def test_a_named_generation_that_does_not_exist_is_refused(measured: Reusing) -> None:
    name = measured.folder.name
    assert f"run {name} has no measured generation 7" in measured.refused(f"{name}/gen-7")


@pytest.mark.parametrize("what", ["", "plan.json", "results.jsonl"])
def test_a_symbolic_link_is_not_read(measured: Reusing, what: str, tmp_path: Path) -> None:
    path = measured.folder / what
    shutil.move(path, tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    assert "is a symbolic link" in measured.refused(measured.folder.name)
    assert measured.run()["paid"] == 4
    assert "note: not reused: " in measured.said


@pytest.mark.skipif(os.getuid() == 0, reason="root reads everything")
def test_an_unreadable_run_is_refused_by_name_and_passed_over_else(measured: Reusing) -> None:
    (measured.folder / "results.jsonl").chmod(0)
    assert "cannot be read" in measured.refused(measured.folder.name)
    assert measured.run()["paid"] == 4


@pytest.mark.parametrize("file", ["plan.json", "results.jsonl"])
def test_a_run_of_another_schema_is_refused_by_name_and_passed_over_else(
    measured: Reusing, file: str
) -> None:
    path = measured.folder / file
    path.write_text(path.read_text().replace('"schema_version":2', '"schema_version":99'))
    assert "schema_version 99 is not supported" in measured.refused(measured.folder.name)
    assert measured.run()["paid"] == 4
    assert set(measured.reasons) == {"no-prior"}
    assert "schema_version 99" in measured.said


def test_a_line_that_is_no_row_is_refused_by_name_and_passed_over_else(measured: Reusing) -> None:
    path = measured.folder / "results.jsonl"
    path.write_bytes(b"nonsense\n" + path.read_bytes())
    assert "line 1 is not a row" in measured.refused(measured.folder.name)
    assert measured.run()["paid"] == 4


def test_a_half_written_run_counts_with_its_complete_rows(measured: Reusing) -> None:
    path = measured.folder / "results.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:50])
    assert measured.run()["reused"] == 2
    assert sorted(filter(None, measured.reasons)) == ["no-row", "no-row"]


def test_a_finished_generation_comes_before_a_newer_one_that_is_not(measured: Reusing) -> None:
    finished = measured.folder
    measured.run("reuse=none")
    path = measured.folder / "results.jsonl"
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    again = measured.run()
    assert again["reused"] == 4
    assert json.loads((measured.folder / "plan.json").read_bytes())["reuse_from"] == finished.name


def test_a_row_from_the_future_is_paid(measured: Reusing) -> None:
    path = measured.folder / "results.jsonl"
    first, *others = path.read_text().splitlines(keepends=True)
    path.write_text(first.replace('"finished_at":"20', '"finished_at":"21') + "".join(others))
    assert measured.run()["paid"] == 1
    assert measured.reasons[0] == "from-the-future"


def test_a_row_with_a_changed_artifact_is_paid_and_one_with_a_lost_one_as_well(measured: Reusing) -> None:
    rows, _ = read_rows(measured.folder / "results.jsonl")
    objects = measured.project.root / "runs" / "objects"
    digest = next(row for row in rows if row.identity.arm == "first").artifacts["transcript-work"].digest
    path = objects / digest[:2] / digest[2:]  # of both cells of the arm: the agent says the same in them
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"?")
    assert measured.run()["paid"] == 2
    assert set(measured.reasons) == {None, "artifact-changed"}
    path.unlink()
    assert measured.run()["paid"] == 2
    assert set(measured.reasons) == {None, "artifact-missing"}
    assert path.read_bytes() == content, "the new measurement left it there again"
    assert measured.run()["paid"] == 0


def test_two_different_rows_of_one_cell_are_both_dropped(measured: Reusing) -> None:
    path = measured.folder / "results.jsonl"
    first, *_ = path.read_text().splitlines(keepends=True)
    with path.open("a") as file:
        file.write(first.replace('"outcome":{', '"outcome":{"note":1,'))
        file.write(first.replace('"neighbours":0', '"neighbours":7'))
    assert measured.run(f"reuse.from={measured.folder.name}")["paid"] == 1
    assert measured.reasons[0] == "conflicting"


def test_rows_that_were_moved_beside_another_plan_stand_for_nothing(measured: Reusing) -> None:
    plan = measured.folder / "plan.json"
    plan.write_text(plan.read_text().replace('"left_out":{}', '"left_out":{"x":"y"}'))
    assert measured.run()["paid"] == 4
    assert set(measured.reasons) == {"foreign-plan"}


def test_a_drift_file_that_cannot_be_read_lets_nothing_be_reused(measured: Reusing) -> None:
    (measured.folder / DRIFT).write_text("{")
    assert measured.run()["paid"] == 4
    assert "drift.json cannot be read" in measured.said


def test_a_plan_of_version_1_measured_every_cell_and_can_be_reused(measured: Reusing) -> None:
    plan, results = measured.folder / "plan.json", measured.folder / "results.jsonl"
    old = json.loads(plan.read_bytes())
    before = json.loads(results.read_bytes().splitlines()[0])["identity"]["plan"]
    del old["sources"], old["reuse_from"]
    content = json.dumps(old | {"schema_version": 1}, sort_keys=True, separators=(",", ":")).encode()
    plan.write_bytes(content + b"\n")
    import hashlib

    results.write_text(results.read_text().replace(before, hashlib.sha256(content).hexdigest()))
    assert measured.run()["reused"] == 4


def test_a_run_with_another_suite_agent_or_effort_is_not_the_previous_one(measured: Reusing) -> None:
    assert measured.run("effort=high")["paid"] == 4
    assert set(measured.reasons) == {"no-prior"}
    assert measured.run()["reused"] == 4, "the older run without an effort is still the newest of its kind"


def test_the_state_of_drift_goes_from_generation_to_generation(measured: Reusing) -> None:
    for look in (1, 2):
        measured.run("reuse.canaries=0.5")
        state = read_drift(measured.folder / DRIFT).state
        assert state.pool
        assert state.pool.looks == look
    assert len(state.pool.pairs) == 4, "in the second look, those that had no turn in the first"


def test_the_pool_of_drift_survives_a_run_without_reuse_and_the_removal_of_its_runs(
    measured: Reusing,
) -> None:
    measured.run("reuse.canaries=1")
    pool = json.loads((measured.folder / DRIFT).read_bytes())["after"]["pool"]
    assert len(pool["pairs"]) == 4
    measured.run("reuse=none")
    prune(measured.project.root, Limits(keep=1))
    assert len(list_runs(measured.project.root)) == 1
    measured.run()
    assert json.loads((measured.folder / DRIFT).read_bytes())["before"]["pool"] == pool


def test_an_edited_line_on_what_removed_runs_found_lets_nothing_be_reused(measured: Reusing) -> None:
    (measured.project.root / "runs" / "pruned-drift.jsonl").write_text("{}\n")
    assert measured.run()["paid"] == 4
    assert set(measured.reasons) == {"drift-unknown"}


def test_a_package_of_another_version_is_named_by_the_miss(
    measured: Reusing, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = read_harness((("agents", "command"), ("sandboxes", "bubblewrap")))
    other = structs.replace(now, distributions={**now.distributions, "msgspec": "99.0"})
    monkeypatch.setattr("bench.sweep.ground.read_harness", lambda _: other)
    measured.run()
    named = f"harness: msgspec {now.distributions['msgspec']}, now 99.0"
    assert {(source["field"], source["detail"]) for source in measured.sources} == {
        ("provenance.harness", named)
    }


def test_nothing_is_collected_between_selection_and_the_start_of_the_run(
    measured: Reusing, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals: list[str] = []

    def collecting(*arguments: Any, **options: Any) -> Any:
        sealed = with_reuse(*arguments, **options)
        with pytest.raises(RunError) as refused:
            collect_garbage(measured.project.root)
        refusals.append(str(refused.value))
        return sealed

    monkeypatch.setattr("bench.run.with_reuse", collecting)
    assert measured.run()["paid"] == 0
    assert "another process works on a run or adds to the object store" in refusals[0]


def test_a_package_of_another_version_is_named_when_a_run_is_to_go_on(
    measured: Reusing, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = read_harness((("agents", "command"), ("sandboxes", "bubblewrap")))
    other = structs.replace(now, distributions={**now.distributions, "msgspec": "99.0"})
    monkeypatch.setattr("bench.sweep.ground.read_harness", lambda _: other)
    assert main(["resume", measured.folder.name, "--root", str(measured.project.root)]) == 2
    said = capsys.readouterr().err
    assert f"\n  harness: msgspec {now.distributions['msgspec']}, now 99.0\n" in said


def cut_to(run: Path, rows: int) -> None:
    """A run as it is after its end came early."""
    path = run / "results.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:rows]))


def test_rows_that_fit_come_before_more_rows_that_do_not(measured: Reusing) -> None:
    measured.run("seed=1", "reuse=none")
    newest = measured.folder
    cut_to(newest, 3)
    again = measured.run("seed=1")
    assert (again["reused"], again["paid"]) == (3, 1)
    assert json.loads((measured.folder / "plan.json").read_bytes())["reuse_from"] == newest.name


def test_an_older_generation_whose_rows_fit_comes_before_newer_ones_of_another_seed(
    measured: Reusing,
) -> None:
    oldest = measured.folder
    for seed in (1, 2):
        measured.run(f"seed={seed}", "reuse=none")
    assert measured.run()["reused"] == 4
    assert json.loads((measured.folder / "plan.json").read_bytes())["reuse_from"] == oldest.name

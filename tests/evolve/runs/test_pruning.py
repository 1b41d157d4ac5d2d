"""Old runs go; one in progress and one whose promotion was not taken over stay. Nothing is ever half gone."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from old_project import BENCH_RUN, EVOLVE_RUN, run_of

from bench.archive import collect_garbage, verify_store
from bench.digest import canonical_json
from bench.project import hold_run, list_runs
from evolve.apply import ApplyRecord
from evolve.cli import main
from evolve.runs import Limits, prune


def record(root: Path, action: Any) -> None:
    """Say that the promotion was applied, or reverted."""
    line = ApplyRecord(
        schema_version=1, time=datetime.now(UTC), action=action, run=EVOLVE_RUN, overlay="d", files=()
    )
    with (run_of(root).path / "applied.jsonl").open("ab") as file:
        file.write(canonical_json(line) + b"\n")


def names(root: Path) -> list[str]:
    return [run.id for run in list_runs(root)]


def test_the_newest_stay(root: Path) -> None:
    for day in range(1, 6):
        shutil.copytree(run_of(root, BENCH_RUN).path, root / "runs" / f"2027010{day}T000000Z-aaaaaa-0000")
    report = prune(root, Limits(keep=2))
    assert names(root) == [EVOLVE_RUN, "20270104T000000Z-aaaaaa-0000", "20270105T000000Z-aaaaaa-0000"]
    assert [each.run for each in report.runs if each.removed] == [
        BENCH_RUN,
        *(f"2027010{day}T000000Z-aaaaaa-0000" for day in (1, 2, 3)),
    ]


def test_a_promotion_that_was_not_applied_stays_until_it_was_or_it_is_forced(root: Path) -> None:
    (kept, _) = prune(root, Limits(keep=0)).runs
    assert (kept.removed, names(root)) == (False, [EVOLVE_RUN])
    assert "was not applied" in kept.why
    record(root, "apply")
    record(root, "revert")
    assert not prune(root, Limits(keep=0)).runs[0].removed
    record(root, "apply")
    assert prune(root, Limits(keep=0)).runs[0].removed
    assert names(root) == []


def test_force_removes_it_all_the_same(root: Path) -> None:
    prune(root, Limits(keep=0, force=True))
    assert names(root) == []


def test_a_run_in_progress_stays_even_by_force(root: Path) -> None:
    with hold_run(run_of(root, BENCH_RUN), "bench"):
        report = prune(root, Limits(keep=0, force=True))
    assert [(each.run, each.removed) for each in report.runs] == [(EVOLVE_RUN, True), (BENCH_RUN, False)]
    assert "in progress" in report.runs[1].why


def test_a_run_that_somebody_began_to_work_on_meanwhile_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evolve.runs.pruning._reason", lambda *_: None)
    with hold_run(run_of(root, BENCH_RUN), "resume"):
        report = prune(root, Limits(keep=0, force=True))
    assert "being worked on" in report.runs[1].why
    assert names(root) == [BENCH_RUN]


def test_a_promotion_that_was_reverted_meanwhile_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evolve.runs.pruning._reason", lambda *_: None)
    assert not prune(root, Limits(keep=0)).runs[0].removed


def test_age_counts_from_the_name_and_a_name_without_a_time_is_never_old(root: Path) -> None:
    shutil.copytree(run_of(root, BENCH_RUN).path, root / "runs" / "99999999-no-time")
    prune(root, Limits(before=datetime(2026, 11, 30, 20, 1, 3, tzinfo=UTC), force=True))
    assert names(root) == [BENCH_RUN, "99999999-no-time"]
    prune(root, Limits(before=datetime(2026, 11, 30, 20, 1, 3, tzinfo=UTC) + timedelta(seconds=1), force=True))
    assert names(root) == ["99999999-no-time"]


def test_a_dry_run_removes_nothing_and_says_the_same(root: Path) -> None:
    said = prune(root, Limits(keep=0), dry_run=True)
    assert names(root) == [EVOLVE_RUN, BENCH_RUN]
    assert prune(root, Limits(keep=0)).runs == said.runs


def test_a_run_that_cannot_be_read_may_hold_a_promotion_and_stays(root: Path) -> None:
    (run_of(root).path / "gen-1" / "promotion.json").write_text("{")
    assert "cannot be read" in prune(root, Limits(keep=0)).runs[0].why
    assert prune(root, Limits(keep=0, force=True)).runs[0].removed


def test_a_folder_that_never_became_a_run_goes(root: Path) -> None:
    (root / "runs" / "20260101T000000Z-aaaaaa-0000").mkdir()
    assert prune(root, Limits(keep=2)).runs[0].removed


def test_a_run_that_is_a_link_stays_and_so_does_what_it_leads_to(root: Path, tmp_path: Path) -> None:
    run_of(root, BENCH_RUN).path.rename(tmp_path / "elsewhere")
    run_of(root, BENCH_RUN).path.symlink_to(tmp_path / "elsewhere")
    assert prune(root, Limits(keep=0, force=True)).runs[1].why == "it is a link"
    assert (tmp_path / "elsewhere" / "plan.json").exists()


def test_a_removal_that_is_cut_short_leaves_no_half_run_and_is_finished_by_gc(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(_folder: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("evolve.runs.pruning.remove_folder", cut)
    with pytest.raises(KeyboardInterrupt):
        prune(root, Limits(keep=0, force=True))
    assert names(root) == [BENCH_RUN]
    assert collect_garbage(root).leftovers == 1
    assert sorted(path.name for path in (root / "runs").iterdir()) == [BENCH_RUN, "objects", "objects.lock"]


def test_what_was_pruned_leaves_its_artifacts_to_gc_as_the_last_line_says(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "prune", "--keep", "1", "--force", "--root", str(root)]) == 0
    assert "next: bench store gc" in capsys.readouterr().out
    assert verify_store(root).orphans > 0
    collect_garbage(root)
    assert (verify_store(root).orphans, verify_store(root).sound) == (0, True)

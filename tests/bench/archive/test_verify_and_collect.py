"""The store holds what rows name, or says what it does not; only what nobody mentions is ever removed."""

import os
from pathlib import Path

import pytest
from old_project import BENCH_RUN, EVOLVE_RUN, files_below, old_project, run_of

from bench.archive import collect_garbage, collect_lines, verify_lines, verify_store
from bench.errors import RunError
from bench.project import hold_run
from bench.results import ObjectStore, read_rows


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return old_project(tmp_path / "project")


def objects(root: Path) -> list[Path]:
    return sorted((root / "runs" / "objects").glob("??/*"))


def named_by_both(root: Path) -> Path:
    """An object that both runs name."""
    (shared,) = [
        path
        for path in objects(root)
        if all(
            (path.parent.name + path.name).encode() in (folder).read_bytes()
            for folder in (
                run_of(root).path / "gen-1" / "results.jsonl",
                run_of(root, BENCH_RUN).path / "results.jsonl",
            )
        )
    ][:1]
    return shared


def test_a_store_as_a_run_left_it_is_sound(root: Path) -> None:
    report = verify_store(root)
    assert (report.sound, report.runs, report.missing, report.changed, report.orphans) == (True, 2, 0, 0, 0)
    assert report.objects == report.referenced == len(objects(root)) == 6


def test_a_missing_a_changed_and_a_truncated_object_are_named_with_the_runs_that_need_them(
    root: Path,
) -> None:
    missing, changed, truncated = objects(root)[:3]
    missing.unlink()
    content = bytearray(changed.read_bytes())
    content[0] ^= 1
    changed.write_bytes(content)
    truncated.write_bytes(truncated.read_bytes()[:-1])
    report = verify_store(root)
    problems = {each.digest: each.problem for each in report.broken}
    assert problems == {
        missing.parent.name + missing.name: "missing",
        changed.parent.name + changed.name: "changed",
        truncated.parent.name + truncated.name: "changed",
    }
    assert (report.sound, report.missing, report.changed) == (False, 1, 2)
    assert all(each.runs for each in report.broken)
    assert any(EVOLVE_RUN in line for line in verify_lines(report))


def test_a_row_that_states_another_size_than_the_object_has_is_named(root: Path) -> None:
    path = run_of(root).path / "gen-1" / "results.jsonl"
    row = read_rows(path)[0][0]
    name, artifact = next(iter(row.artifacts.items()))
    before, after = f'"size":{artifact.size}', f'"size":{artifact.size + 1}'
    lines = path.read_text().splitlines(keepends=True)
    assert before in lines[0], name
    path.write_text("".join([lines[0].replace(before, after), *lines[1:]]))
    assert {each.problem for each in verify_store(root).broken} == {"wrong-size"}


def test_what_no_run_names_is_an_orphan_and_what_is_no_object_is_a_stray(root: Path) -> None:
    ObjectStore(root / "runs" / "objects").put(b"nobody needs this")
    (root / "runs" / "objects" / "note.txt").write_text("mine")
    objects(root)[0].parent.joinpath(".unfinished-x").write_bytes(b"half")
    report = verify_store(root)
    assert (report.sound, report.orphans, len(report.strays)) == (True, 1, 2)


def test_a_link_in_place_of_an_object_is_none(root: Path, tmp_path: Path) -> None:
    path = objects(root)[0]
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert [each.problem for each in verify_store(root).broken] == ["missing"]


@pytest.mark.parametrize("damage", [b"{}\n", b"not json\n", b'{"schema_version": 99}\n'])
def test_a_run_whose_rows_cannot_be_read_makes_the_answer_no(root: Path, damage: bytes) -> None:
    path = run_of(root).path / "gen-1" / "results.jsonl"
    path.write_bytes(path.read_bytes() + damage)
    report = verify_store(root)
    assert not report.sound
    assert [each.run for each in report.unreadable] == [EVOLVE_RUN]
    assert "line 4" in report.unreadable[0].why


def test_a_torn_last_line_is_no_damage(root: Path) -> None:
    path = run_of(root).path / "gen-1" / "results.jsonl"
    path.write_bytes(path.read_bytes() + path.read_bytes()[:100])
    assert verify_store(root).sound


def test_a_project_without_runs_has_a_sound_store(tmp_path: Path) -> None:
    assert verify_store(tmp_path).sound
    assert collect_garbage(tmp_path).removed == 0
    assert not (tmp_path / "runs").exists()


def test_collecting_removes_orphans_and_nothing_that_a_run_mentions(root: Path) -> None:
    before = files_below(root / "runs")
    orphan = ObjectStore(root / "runs" / "objects").put(b"nobody needs this")
    assert collect_garbage(root, dry_run=True).removed == 1
    assert len(objects(root)) == 7
    report = collect_garbage(root)
    assert (report.removed, report.removed_size, report.left) == (1, orphan.size, 6)
    (root / "runs" / "objects.lock").unlink()
    assert files_below(root / "runs") == before
    assert verify_store(root).sound


@pytest.mark.parametrize(
    "place",
    [
        f"{EVOLVE_RUN}/gen-1/journal.jsonl",
        f"{EVOLVE_RUN}/spend.jsonl",
        "campaigns/weekly.jsonl",
        "drift.json",
    ],
)
def test_a_digest_in_any_file_of_a_kept_run_or_beside_the_runs_keeps_its_object(
    root: Path, place: str
) -> None:
    orphan = ObjectStore(root / "runs" / "objects").put(b"only a journal knows")
    path = root / "runs" / place
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'{{"phase": "session", "artifacts": {{"log": "{orphan.digest}"}}}}')
    assert collect_garbage(root).removed == 0


def test_objects_that_only_runs_mention_which_are_not_kept_go_and_those_runs_are_named(root: Path) -> None:
    shared = named_by_both(root)
    report = collect_garbage(root, [EVOLVE_RUN[:16]])
    assert (report.kept, report.forgotten) == ((EVOLVE_RUN,), (BENCH_RUN,) if report.removed else ())
    report = collect_garbage(root, [BENCH_RUN])
    assert report.removed > 0
    assert report.forgotten == (EVOLVE_RUN,)
    assert shared.exists()
    assert any(EVOLVE_RUN in line for line in collect_lines(report))


def test_nothing_is_collected_while_a_run_is_in_progress(root: Path) -> None:
    ObjectStore(root / "runs" / "objects").put(b"not yet named by a row")
    with (
        hold_run(run_of(root), "resume"),
        pytest.raises(RunError, match=f"run {EVOLVE_RUN} is in progress.*process"),
    ):
        collect_garbage(root)
    assert len(objects(root)) == 7
    assert collect_garbage(root).removed == 1


def test_a_kept_run_that_cannot_be_read_stops_the_collection(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.open

    def refuse(path: Path, *arguments: object, **more: object) -> object:
        if path.name == "plan.json":
            raise PermissionError(13, "Permission denied")
        return real(path, *arguments, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(RunError, match=r"plan\.json cannot be read"):
        collect_garbage(root)
    assert len(objects(root)) == 6


def test_a_store_that_is_a_link_is_not_collected(root: Path, tmp_path: Path) -> None:
    ObjectStore(root / "runs" / "objects").put(b"another project's")
    (root / "runs" / "objects").rename(tmp_path / "shared")
    (root / "runs" / "objects").symlink_to(tmp_path / "shared")
    with pytest.raises(RunError, match="is a link"):
        collect_garbage(root)
    assert len(list((tmp_path / "shared").glob("??/*"))) == 7


def test_what_killed_work_left_is_cleaned_up(root: Path) -> None:
    runs = root / "runs"
    (runs / ".import-x" / "run").mkdir(parents=True)
    (runs / ".pruned-x" / "gen-1").mkdir(parents=True)
    objects(root)[0].parent.joinpath(".unfinished-x").write_bytes(b"half")
    assert collect_garbage(root).leftovers == 3
    assert verify_store(root).strays == ()
    assert not [path for path in runs.iterdir() if path.name.startswith((".import", ".pruned"))]


def test_a_disk_that_takes_no_removal_is_an_error_that_names_the_file(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ObjectStore(root / "runs" / "objects").put(b"x")

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(RunError, match=r"cannot remove .*Read-only"):
        collect_garbage(root)


def test_runs_behind_a_link_are_verified_and_collected_where_they_are(root: Path, tmp_path: Path) -> None:
    (root / "runs").rename(tmp_path / "disk")
    (root / "runs").symlink_to(tmp_path / "disk")
    ObjectStore(root / "runs" / "objects").put(b"x")
    assert collect_garbage(root).removed == 1
    assert verify_store(root).sound


def test_a_run_that_is_a_link_is_kept_like_any_other(root: Path, tmp_path: Path) -> None:
    run_of(root).path.rename(tmp_path / "elsewhere")
    run_of(root).path.symlink_to(tmp_path / "elsewhere")
    assert collect_garbage(root).removed == 0
    assert verify_store(root).sound


def test_unknown_files_and_odd_entries_beside_and_in_runs_do_no_harm(root: Path) -> None:
    (root / "runs" / "note.txt").write_text("mine")
    os.mkfifo(root / "runs" / "pipe")
    os.mkfifo(run_of(root).path / "pipe")
    (root / "runs" / "campaigns").mkdir()
    (root / "runs" / "campaigns" / "link").symlink_to("/proc/self")
    assert collect_garbage(root).removed == 0
    assert verify_store(root).sound

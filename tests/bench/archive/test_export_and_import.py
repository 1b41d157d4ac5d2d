"""A run goes elsewhere as one file, whole and verified, or nothing of it does. Hostile files are refused."""

import errno
import gzip
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from old_project import (
    BENCH_RUN,
    EVOLVE_RUN,
    edit_json,
    files_below,
    forged,
    members,
    old_project,
    packed,
    run_of,
)

from bench.archive import collect_garbage, export_run, import_run, verify_store
from bench.digest import canonical_json, digest_bytes
from bench.errors import RunError
from bench.project import hold_run, list_runs

DIGEST = digest_bytes(b"x")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return old_project(tmp_path / "project")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A project without runs."""
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "evolve.toml").write_text('name = "other"\n')
    return folder


@pytest.fixture
def archive(root: Path, tmp_path: Path) -> Path:
    target = tmp_path / "run.tar.gz"
    export_run(run_of(root), target)
    return target


def left_in(project: Path) -> list[str]:
    """What an import left in a project, but for the lock."""
    runs = project / "runs"
    return (
        sorted(path.name for path in runs.iterdir() if path.name != "objects.lock") if runs.exists() else []
    )


def test_a_run_arrives_byte_for_byte_with_all_its_artifacts(archive: Path, root: Path, other: Path) -> None:
    report = import_run(other, archive)
    assert (report.run, report.outcome, report.files, report.objects) == (EVOLVE_RUN, "imported", 8, 6)
    assert files_below(run_of(other).path) == files_below(run_of(root).path)
    verified = verify_store(other)
    assert (verified.sound, verified.referenced, verified.orphans) == (True, 6, 0)
    assert left_in(other) == [EVOLVE_RUN, "objects"]


def test_the_same_run_is_the_same_bytes_whenever_and_wherever_it_is_exported(
    archive: Path, other: Path, tmp_path: Path
) -> None:
    import_run(other, archive)
    for path in run_of(other).path.rglob("*"):
        os.utime(path, (1, 1))
        path.chmod(0o700)
    export_run(run_of(other), tmp_path / "again.tar.gz")
    assert (tmp_path / "again.tar.gz").read_bytes() == archive.read_bytes()


def test_any_tar_program_can_read_it(archive: Path, root: Path) -> None:
    found = members(archive)
    assert next(iter(found)) == "manifest.json"
    own = {name.removeprefix("run/"): content for name, content in found.items() if name.startswith("run/")}
    assert own == files_below(run_of(root).path)
    for name, content in found.items():
        if name.startswith("objects/"):
            assert digest_bytes(content) == name.removeprefix("objects/").replace("/", "")


def test_importing_twice_changes_nothing_and_heals_a_damaged_object(archive: Path, other: Path) -> None:
    import_run(other, archive)
    before = files_below(other / "runs")
    assert import_run(other, archive).outcome == "already-there"
    victim = next(iter((other / "runs" / "objects").glob("??/*")))
    victim.write_bytes(b"damaged")
    report = import_run(other, archive)
    assert (report.outcome, report.objects) == ("already-there", 1)
    assert files_below(other / "runs") == before


def test_another_run_of_the_same_name_is_never_overwritten(archive: Path, other: Path) -> None:
    import_run(other, archive)
    (run_of(other).path / "note.txt").write_text("mine")
    before = files_below(other / "runs")
    with pytest.raises(RunError, match="there is another run"):
        import_run(other, archive)
    assert files_below(other / "runs") == before


def test_a_run_in_progress_is_not_exported(root: Path, tmp_path: Path) -> None:
    with hold_run(run_of(root), "resume"), pytest.raises(RunError, match="cannot be exported while"):
        export_run(run_of(root), tmp_path / "run.tar.gz")
    assert not (tmp_path / "run.tar.gz").exists()


def test_a_file_that_is_there_is_never_overwritten(root: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(RunError, match="exists already"):
        export_run(run_of(root), tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "project"]


def test_a_run_with_a_broken_artifact_is_not_exported(root: Path, tmp_path: Path) -> None:
    victim = next(iter((root / "runs" / "objects").glob("??/*")))
    victim.write_bytes(b"damaged")
    with pytest.raises(RunError, match="1 of its artifacts"):
        export_run(run_of(root), tmp_path / "run.tar.gz")
    assert not (tmp_path / "run.tar.gz").exists()


@pytest.mark.parametrize("kind", ["link", "pipe", "folder link"])
def test_a_run_that_holds_anything_but_files_is_not_exported(root: Path, tmp_path: Path, kind: str) -> None:
    place = run_of(root).path / "odd"
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/etc" if kind == "folder link" else "/etc/passwd")
    with pytest.raises(RunError, match="odd is no regular file"):
        export_run(run_of(root), tmp_path / "run.tar.gz")


@pytest.mark.parametrize("name", ["x" * 240, "a\nb", "back\\slash"])
def test_a_file_whose_name_no_archive_can_hold_is_named(root: Path, tmp_path: Path, name: str) -> None:
    (run_of(root).path / name).write_text("")
    with pytest.raises(RunError, match="is no place for a file of a run"):
        export_run(run_of(root), tmp_path / "run.tar.gz")
    assert not (tmp_path / "run.tar.gz").exists()


def test_long_names_that_fit_arrive(root: Path, other: Path, tmp_path: Path) -> None:
    (run_of(root).path / ("d" * 90)).mkdir()
    (run_of(root).path / ("d" * 90) / ("n" * 95 + "ä")).write_text("deep")
    export_run(run_of(root), tmp_path / "long.tar.gz")
    import_run(other, tmp_path / "long.tar.gz")
    assert files_below(run_of(other).path) == files_below(run_of(root).path)


@pytest.mark.parametrize(
    "place",
    [
        "run/../../../evil",
        "../evil",
        "/tmp/evil",
        "run//evil",
        "run/./evil",
        "run/",
        "run",
        "evil",
        "run/a\\..\\b",
        "run/a\x1b[31m",
        "run/" + "x" * 240,
        f"objects/{DIGEST[:2]}/{DIGEST[2:-1]}0",
        f"objects/../{DIGEST}",
        "objects.lock",
        ".import-x/evil",
    ],
)
def test_a_file_for_a_place_outside_is_refused(place: str, other: Path, tmp_path: Path) -> None:
    archive = tmp_path / "evil.tar.gz"
    entries = [{"path": place, "size": 1, "digest": DIGEST}]
    manifest = canonical_json({"schema_version": 1, "run": EVOLVE_RUN, "files": entries})
    packed(archive, {"manifest.json": manifest, "evil": b"x"})
    with pytest.raises(RunError, match="is no place for a file of a run"):
        import_run(other, archive)
    assert left_in(other) == []
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    "run", ["../evil", ".", "", "objects", "x" * 300, "20261130T200026Z-\x1b[2J", "20261130T200026Z-a/b"]
)
def test_a_run_of_a_wrong_name_is_refused(run: str, other: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not the name of a run"):
        import_run(other, forged(tmp_path / "evil.tar.gz", run, {"run/config.json": b"{}"}))
    assert left_in(other) == []


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE,
             tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_SPARSE]
)  # fmt: skip
def test_links_devices_and_every_other_kind_of_member_are_refused(
    kind: bytes, other: Path, tmp_path: Path
) -> None:
    entries = [{"path": "run/config.json", "size": 0, "digest": digest_bytes(b"")}]
    manifest = canonical_json({"schema_version": 1, "run": EVOLVE_RUN, "files": entries})
    archive = packed(tmp_path / "evil.tar.gz", {"manifest.json": manifest, "run/config.json": b""}, kind)
    with pytest.raises(RunError, match="is no regular file"):
        import_run(other, archive)
    assert left_in(other) == []


def test_a_member_that_the_manifest_does_not_name_is_refused(
    archive: Path, other: Path, tmp_path: Path
) -> None:
    packed(tmp_path / "evil.tar.gz", members(archive) | {"run/extra": b"x"})
    with pytest.raises(RunError, match="not a file of its manifest"):
        import_run(other, tmp_path / "evil.tar.gz")
    assert left_in(other) == []


def test_a_missing_member_is_refused(archive: Path, other: Path, tmp_path: Path) -> None:
    found = members(archive)
    found.pop("run/gen-1/report.md")
    with pytest.raises(RunError, match="1 files of its manifest are not in it"):
        import_run(other, packed(tmp_path / "evil.tar.gz", found))
    assert left_in(other) == []


@pytest.mark.parametrize("name", ["run/gen-1/results.jsonl", "an object"])
def test_content_without_its_digest_is_refused(name: str, archive: Path, other: Path, tmp_path: Path) -> None:
    found = members(archive)
    place = name if name in found else next(each for each in found if each.startswith("objects/"))
    found[place] = bytes([found[place][0] ^ 1]) + found[place][1:]
    with pytest.raises(RunError, match="does not have its digest"):
        import_run(other, packed(tmp_path / "evil.tar.gz", found))
    assert left_in(other) == []


def test_a_run_whose_rows_name_artifacts_that_are_not_in_it_is_refused(
    archive: Path, other: Path, tmp_path: Path
) -> None:
    files = {name: content for name, content in members(archive).items() if name.startswith("run/")}
    with pytest.raises(RunError, match=r"6 artifacts of run .* are not in it"):
        import_run(other, forged(tmp_path / "evil.tar.gz", EVOLVE_RUN, files))
    assert left_in(other) == []


@pytest.mark.parametrize("version", [0, 2, 99])
def test_an_archive_of_another_version_is_refused_by_name(version: int, other: Path, tmp_path: Path) -> None:
    archive = forged(tmp_path / "new.tar.gz", EVOLVE_RUN, {"run/config.json": b"{}"}, schema_version=version)
    with pytest.raises(
        RunError, match=f"schema_version {version} is not supported.*\n.*the version of incumbent"
    ):
        import_run(other, archive)


def test_rows_of_a_future_version_are_refused_by_name(archive: Path, other: Path, tmp_path: Path) -> None:
    files = members(archive)
    files.pop("manifest.json")
    files["run/gen-1/results.jsonl"] = b'{"schema_version": 99}\n'
    with pytest.raises(RunError, match="line 1: schema_version 99 is not supported"):
        import_run(other, forged(tmp_path / "new.tar.gz", EVOLVE_RUN, files))
    assert left_in(other) == []


def test_an_archive_that_unpacks_to_more_than_allowed_is_refused_before_anything_is_written(
    archive: Path, other: Path, tmp_path: Path
) -> None:
    with pytest.raises(RunError, match=r"unpacks to \d+ bytes; the limit is 1000 \(--most\)"):
        import_run(other, archive, most=1000)
    bomb = {"path": "run/bomb", "size": 10**15, "digest": DIGEST}
    manifest = canonical_json({"schema_version": 1, "run": EVOLVE_RUN, "files": [bomb]})
    with pytest.raises(RunError, match=r"unpacks to 1000000000000000 bytes"):
        import_run(other, packed(tmp_path / "bomb.tar.gz", {"manifest.json": manifest}))
    assert left_in(other) == []


def test_a_member_larger_than_its_manifest_says_is_refused_without_reading_it(
    other: Path, tmp_path: Path
) -> None:
    bomb = {"path": "run/bomb", "size": 1, "digest": DIGEST}
    manifest = canonical_json({"schema_version": 1, "run": EVOLVE_RUN, "files": [bomb]})
    archive = packed(tmp_path / "bomb.tar.gz", {"manifest.json": manifest, "run/bomb": bytes(50_000_000)})
    with pytest.raises(RunError, match="not a file of its manifest"):
        import_run(other, archive)


def test_a_manifest_that_is_larger_than_any_is_not_read(other: Path, tmp_path: Path) -> None:
    archive = packed(tmp_path / "bomb.tar.gz", {"manifest.json": bytes(64 * 1024 * 1024 + 1)})
    with pytest.raises(RunError, match="does not begin with"):
        import_run(other, archive)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.999])
def test_an_archive_that_was_cut_off_anywhere_is_refused(
    share: float, archive: Path, other: Path, tmp_path: Path
) -> None:
    content = archive.read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(content[: int(len(content) * share)])
    with pytest.raises(RunError):
        import_run(other, tmp_path / "cut.tar.gz")
    assert left_in(other) == []


def test_what_follows_after_its_end_is_refused_and_so_is_a_wrong_sum(
    archive: Path, other: Path, tmp_path: Path
) -> None:
    content = archive.read_bytes()
    for damaged in (
        content + gzip.compress(b"more"),
        content[:-8] + bytes(8),
        content[:200] + b"?" + content[201:],
    ):
        (tmp_path / "damaged.tar.gz").write_bytes(damaged)
        with pytest.raises(RunError):
            import_run(other, tmp_path / "damaged.tar.gz")
    assert left_in(other) == []


@pytest.mark.parametrize(
    "content",
    [b"", b"text", gzip.compress(b"text", mtime=0), gzip.compress(bytes(5000), mtime=0)],
    ids=["empty", "text", "compressed text", "zeros"],
)
def test_something_else_is_no_archive(content: bytes, other: Path, tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(content)
    with pytest.raises(RunError, match=r"x\.tar\.gz"):
        import_run(other, tmp_path / "x.tar.gz")
    with pytest.raises(RunError, match="No such file"):
        import_run(other, tmp_path / "no such file")
    assert left_in(other) == []


def test_two_files_in_one_place_are_refused(other: Path, tmp_path: Path) -> None:
    for places in (["run/a", "run/a"], ["run/a", "run/a/b"]):
        entries = [{"path": place, "size": 1, "digest": DIGEST} for place in places]
        manifest = canonical_json({"schema_version": 1, "run": EVOLVE_RUN, "files": entries})
        with pytest.raises(RunError, match="two files in one place"):
            import_run(other, packed(tmp_path / "x.tar.gz", {"manifest.json": manifest}))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own that is nearly full."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(place)], check=False, capture_output=True
    )
    if made.returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_leaves_no_archive(root: Path, small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(60_000))
    with pytest.raises(RunError, match="No space left"):
        export_run(run_of(root), small_disk / "run.tar.gz")
    assert [path.name for path in small_disk.iterdir()] == ["ballast"]


def test_a_disk_without_room_for_it_takes_nothing(archive: Path, small_disk: Path) -> None:
    with pytest.raises(RunError, match=r"unpacks to \d+ bytes; the disk has \d+|No space left"):
        import_run(small_disk, archive)
    assert left_in(small_disk) == []


@pytest.mark.parametrize("step", ["mkdir", "open", "fsync", "rename", "replace"])
def test_an_error_at_any_step_leaves_nothing_that_anybody_sees(
    step: str, archive: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (other / "runs").mkdir()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere")

    owner: Any = os if step == "fsync" else Path
    real = getattr(owner, step)

    def sometimes(*arguments: Any, **more: Any) -> Any:
        return real(*arguments, **more) if arguments[0] == archive else fail()

    monkeypatch.setattr(owner, step, sometimes)
    with pytest.raises(RunError, match="No space left"):
        import_run(other, archive)
    monkeypatch.undo()
    assert list_runs(other) == ()
    assert collect_garbage(other).left == 0
    assert import_run(other, archive).outcome == "imported"


KILLED = """
import os, signal, sys
from pathlib import Path
from bench.archive import import_run
left = int(sys.argv[3])
def watch(event, arguments):
    global left
    if event in {"open", "os.rename", "os.mkdir", "os.remove"}:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
import_run(Path(sys.argv[1]), Path(sys.argv[2]))
print(left)
"""


def killed_at(steps: int, other: Path, archive: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", KILLED, str(other), str(archive), str(steps)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_kill_9_at_any_step_leaves_no_run_or_the_whole_run(archive: Path, other: Path) -> None:
    most = 100_000
    steps = most - int(killed_at(most, other, archive).stdout)
    assert steps > 30
    whole = files_below(run_of(other).path)
    for step in range(1, steps + 1, 3):
        shutil.rmtree(other / "runs")
        assert killed_at(step, other, archive).returncode == -9
        assert [run.id for run in list_runs(other)] in ([], [EVOLVE_RUN])
        if list_runs(other):
            assert files_below(run_of(other).path) == whole
            assert verify_store(other).sound
        assert verify_store(other).missing == 0
        import_run(other, archive)
        assert collect_garbage(other).left == 6
        assert left_in(other) == [EVOLVE_RUN, "objects"]


def test_both_runs_of_a_project_arrive_in_one_store(
    root: Path, other: Path, archive: Path, tmp_path: Path
) -> None:
    export_run(run_of(root, BENCH_RUN), tmp_path / "bench.tar.gz")
    import_run(other, archive)
    report = import_run(other, tmp_path / "bench.tar.gz")
    assert report.objects < len(list((other / "runs" / "objects").glob("??/*")))
    assert files_below(other / "runs" / "objects") == files_below(root / "runs" / "objects")


def test_a_manifest_edited_to_hide_an_edit_of_the_rows_is_only_as_good_as_its_run(
    root: Path, tmp_path: Path, other: Path
) -> None:
    """An archive proves that it is whole, not that it is honest: that is what `evolve apply` looks at."""
    edit_json(
        run_of(root).path / "gen-1" / "promotion.json",
        lambda content: content.update(decision="keep_incumbent"),
    )
    export_run(run_of(root), tmp_path / "edited.tar.gz")
    assert import_run(other, tmp_path / "edited.tar.gz").outcome == "imported"

"""Signals, a full disk, a store that cannot be written, a clock set back, torn lines, damaged objects: then it goes on."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.exits import ExitCode
from tests.chaos.case import NEVER, Case, Point, Undisturbed, going_on_faults
from tests.chaos.remains import Remains, lines, verdict

pytestmark = pytest.mark.e2e
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk: needs root")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Case(tmp_path_factory.mktemp("undisturbed") / "case", "bubblewrap").undisturbed()


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path / "case", "bubblewrap")


@contextmanager
def disk(folder: Path, *options: str) -> Iterator[None]:
    """A small disk in place of the folder."""
    folder.mkdir(exist_ok=True)
    mount("-t", "tmpfs", "-o", ",".join(options), "none", str(folder))
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def goes_on(case: Case, expected: Undisturbed) -> None:
    assert list(going_on_faults(case, expected)) == []


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize(
    "point", [("session", "running", 7), ("journal", "after", 5), ("verify", "running", 2)]
)
def test_a_signal_is_130_and_resume_goes_on(
    case: Case, expected: Undisturbed, name: str, point: tuple[str, str, int]
) -> None:
    done = case.evolve(Point(*point, signal=name), *case.project.words)
    assert done.returncode == ExitCode.INTERRUPTED, done.stderr
    assert "Traceback" not in done.stderr
    goes_on(case, expected)


def test_a_run_that_is_stopped_and_then_killed_pays_no_session_again(
    case: Case, expected: Undisturbed
) -> None:
    stopped = case.evolve(Point("journal", "after", 6, "SIGTERM"), *case.project.words)
    assert stopped.returncode == ExitCode.INTERRUPTED, stopped.stderr
    for point in (Point("verify", "before", 1), Point("oracle", "before", 1)):
        assert case.begin_or_go_on(point).returncode == -signal.SIGKILL
    goes_on(case, expected)


@as_root
@pytest.mark.parametrize("kilobytes", [56, 76, 96])
def test_a_full_disk_is_an_outage_and_resume_goes_on(
    case: Case, expected: Undisturbed, kilobytes: int
) -> None:
    runs = case.project.root / "runs"
    with disk(runs, f"size={kilobytes}k"):
        done = case.evolve(NEVER, *case.project.words)
        assert done.returncode == ExitCode.UNUSABLE, done.stderr
        assert "No space left on device" in done.stderr
        assert "Traceback" not in done.stderr
        mount("-o", "remount,size=64m", str(runs))
        goes_on(case, expected)


@as_root
def test_a_store_that_cannot_be_written_is_told_and_resume_goes_on(case: Case, expected: Undisturbed) -> None:
    assert case.evolve(Point("append", "after", 2), *case.project.words).returncode == -signal.SIGKILL
    objects = case.project.root / "runs" / "objects"
    mount("--bind", str(objects), str(objects))
    mount("-o", "remount,bind,ro", str(objects))
    try:
        done = case.begin_or_go_on(NEVER)
    finally:
        subprocess.run(["umount", str(objects)], check=True)
    assert done.returncode == ExitCode.REQUEST, done.stderr
    assert "Read-only file system" in done.stderr
    assert str(objects) in done.stderr
    assert "Traceback" not in done.stderr
    goes_on(case, expected)


def test_a_clock_that_was_set_back_changes_no_decision(case: Case, expected: Undisturbed) -> None:
    assert case.evolve(Point("append", "after", 3), *case.project.words).returncode == -signal.SIGKILL
    done = case.begin_or_go_on(Point("clock", str(-90_000)))
    assert done.returncode == 0, done.stderr
    assert verdict(case.project.run) == expected.verdict
    assert Remains.of(case.project.run).measured == expected.measured
    goes_on(case, expected)


@pytest.mark.parametrize("name", ["gen-1/results.jsonl", "gen-1/journal.jsonl", "spend.jsonl"])
def test_a_torn_line_is_cut_off_and_what_it_said_is_found_again(
    case: Case, expected: Undisturbed, name: str
) -> None:
    assert case.evolve(Point("append", "after", 2), *case.project.words).returncode == -signal.SIGKILL
    path = case.project.run / name
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"amounts":{"cells":1,"pico')
    goes_on(case, expected)
    assert path.read_bytes().startswith(whole)
    assert lines(path)


def test_a_session_whose_work_is_truncated_in_the_store_is_run_again_and_the_row_says_so(case: Case) -> None:
    point = Point("verify", "before", 2)
    assert case.evolve(point, *case.project.words).returncode == -signal.SIGKILL
    ended = [each for each in lines(case.project.run / "gen-1" / "journal.jsonl") if each.get("state")]
    store = case.project.root / "runs" / "objects"
    for each in ended:
        digest = each["state"]["digest"]
        os.truncate(store / digest[:2] / digest[2:], each["state"]["size"] // 2)
    done = case.begin_or_go_on(NEVER)
    assert done.returncode == 0, done.stderr
    rows = lines(case.project.run / "gen-1" / "results.jsonl")
    assert {row["outcome"]["status"] for row in rows} == {"measured"}
    remarks = [remark for row in rows for remark in row["outcome"]["diagnostics"]]
    assert "session work is run again: what it left is damaged in the store" in remarks

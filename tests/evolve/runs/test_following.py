"""A run in progress, watched from another process by its files and its lock alone."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from old_project import EVOLVE_RUN, run_of

from bench.project import hold_run
from evolve.runs import follow

WORK = """
import sys
from pathlib import Path
from bench.project import RunFolder, hold_run
run, rows = RunFolder(Path(sys.argv[1])), Path(sys.argv[2]).read_bytes().splitlines(keepends=True)
with hold_run(run, "evolve") as hold, open(run.path / "gen-1" / "results.jsonl", "ab", buffering=0) as file:
    print("held", flush=True)
    for row in rows:
        sys.stdin.readline()
        file.write(row[:50])
        print("half", flush=True)
        sys.stdin.readline()
        file.write(row[50:])
        print("whole", flush=True)
    sys.stdin.readline()
    hold.finish(0)
"""


@pytest.fixture
def rows(root: Path, tmp_path: Path) -> Path:
    """The rows of the run, taken out of it."""
    return Path(shutil.move(run_of(root).path / "gen-1" / "results.jsonl", tmp_path / "rows.jsonl"))


def worker(root: Path, rows: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", WORK, str(run_of(root).path), str(rows)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def step(process: "subprocess.Popen[str]") -> None:
    """Let the worker go on, and wait until it has."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    process.stdout.readline()


def test_each_cell_is_a_line_as_soon_as_its_row_is_whole_until_the_run_ends(root: Path, rows: Path) -> None:
    process, said, seen, pauses = worker(root, rows), list[str](), list[int](), list[float]()

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        seen.append(len(said))
        step(process)

    follow(run_of(root), said.append, pause)
    process.communicate()
    assert seen == [0, 0, 1, 1, 2, 2, 3]
    assert [line.split(":")[0] for line in said] == [
        f"gen-1 [{number}/3] review-backup-command/{arm}/0"
        for number, arm in enumerate(("no_skill", "review", "candidate_review"), start=1)
    ]
    assert set(pauses) == {1.0}


def test_a_run_that_is_killed_ends_it(root: Path, rows: Path) -> None:
    process, said = worker(root, rows), list[str]()

    def kill(_seconds: float) -> None:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    follow(run_of(root), said.append, kill)
    assert said == []
    process.communicate()


def test_a_run_that_ended_is_told_once_without_waiting(root: Path) -> None:
    said: list[str] = []

    def never(_seconds: float) -> None:
        raise AssertionError

    follow(run_of(root), said.append, never)
    assert len(said) == 3


def test_following_keeps_nobody_from_working_on_the_run(root: Path) -> None:
    times = iter(range(50))

    def work(_seconds: float) -> None:
        raise AssertionError

    for _ in times:
        follow(run_of(root), lambda _line: None, work)
        with hold_run(run_of(root), "resume"):
            pass
    assert EVOLVE_RUN in str(run_of(root).path)

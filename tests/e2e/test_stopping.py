"""Ctrl-C, SIGTERM and a deadline in the middle of a sweep: rows are kept, nothing is left, the exit code is right."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from bench.results import Row, read_rows
from tests.e2e.commands import agent_program, run, start, starter_root, with_program

# one arm answers at once, the other hangs with a child that has left its process group and holds the pipes
HANGING = """
import subprocess
if session['skills']:
    subprocess.Popen(['setsid', 'sleep', '3217'])
    subprocess.run(['sleep', '3217'])
review('approve')
"""
EIGHT_CELLS = ["tasks.id='review-[bcd]*'", "tasks.class=review-defect", "workers=4", "retries=0"]


def wait_for(process: "subprocess.Popen[str]", events: Path, count: int) -> None:
    """Until so many cells have begun and one is finished; fails when the command ends first."""
    while True:
        lines = events.read_text().splitlines() if events.exists() else []
        names = [json.loads(line)["event"] for line in lines if line.endswith("}")]
        if names.count("cell-started") >= count and "cell-finished" in names:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def left_behind(scratch: Path) -> list[str]:
    """What a run may not leave: processes, mounts, temp folders."""
    processes = [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if (text := _read(path)) and (b"3217" in text.split(b"\0") or str(scratch).encode() in text)
    ]
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if str(scratch) in line]
    return processes + mounts + [path.name for path in scratch.iterdir()]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def rows_of(project: Path) -> tuple[Row, ...]:
    (results,) = (starter_root(project) / "runs").glob("*/results.jsonl")
    rows, torn = read_rows(results)
    assert not torn
    return rows


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("sandbox", ["bubblewrap", "host"])
def test_a_signal_keeps_the_rows_and_leaves_nothing(
    project: Path, number: signal.Signals, sandbox: str
) -> None:
    scratch = project / "scratch"
    scratch.mkdir()
    events = project / "events"
    process = start(
        "bench",
        *EIGHT_CELLS,
        *with_program(agent_program(project, HANGING)),
        f"sandbox={sandbox}",
        f"sandbox.scratch={scratch}",
        "--events",
        str(events),
        folder=project,
    )
    wait_for(process, events, 4)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "rows are kept" in err
    rows = rows_of(project)
    assert {row.outcome.status for row in rows} == {"measured", "stopped"}
    assert {row.outcome.kind for row in rows if row.outcome.status == "stopped"} == {"cancelled"}
    assert left_behind(scratch) == []


def test_a_deadline_is_exit_3_and_its_cells_say_so(project: Path) -> None:
    scratch = project / "scratch"
    scratch.mkdir()
    done = run(
        "bench",
        *EIGHT_CELLS,
        *with_program(agent_program(project, HANGING)),
        f"sandbox.scratch={scratch}",
        "budget.wall=3",
        folder=project,
    )
    assert done.code == 3, done.err
    assert "deadline" in {row.outcome.kind for row in rows_of(project)}
    assert left_behind(scratch) == []


def test_an_outage_stops_the_sweep_with_exit_1_within_the_window(project: Path) -> None:
    agent = agent_program(project, "sys.exit(7)")
    done = run("bench", *with_program(agent), "breaker=3", "workers=2", "retries=0", folder=project)
    assert done.code == 1, done.err
    rows = rows_of(project)
    assert 3 <= len(rows) <= 3 + 4 * 2 - 1  # a window of four cells for each of two workers
    assert {row.outcome.status for row in rows[:3]} == {"failed"}


def test_a_run_that_was_killed_leaves_its_scratch_to_the_next_one(project: Path) -> None:
    scratch = project / "scratch"
    scratch.mkdir()
    events = project / "events"
    flags = [*EIGHT_CELLS, f"sandbox.scratch={scratch}"]
    process = start(
        "bench",
        *flags,
        *with_program(agent_program(project, HANGING)),
        "--events",
        str(events),
        folder=project,
    )
    wait_for(process, events, 4)
    process.kill()
    process.communicate(timeout=60)
    assert run("bench", *flags, folder=project).code == 0
    assert left_behind(scratch) == []

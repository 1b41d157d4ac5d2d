"""The time that a run is at work adds up over its processes, whatever ends them and whatever the clock says."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.errors import RunError
from bench.spend import WORKED, at_work, read_worked

_PROCESS = """
import sys, time
from pathlib import Path
from bench.spend import worked
worked.BEAT = 0.02
with worked.at_work(Path(sys.argv[1]), time.monotonic() - float(sys.argv[2])):
    print("begun", flush=True)
    time.sleep(600)
"""


def killed_process(folder: Path, before: float, until: float) -> None:
    """One that began so many seconds ago, and is killed once that many are written down in all."""
    words = [sys.executable, "-c", _PROCESS, str(folder), str(before)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while read_worked(folder) < until:
            assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)


def test_a_run_that_nobody_counted_was_not_at_work(tmp_path: Path) -> None:
    assert read_worked(tmp_path) == 0.0


def test_the_time_of_killed_processes_adds_up_and_that_between_them_does_not(tmp_path: Path) -> None:
    begun = time.monotonic()
    killed_process(tmp_path, 100.0, 100.2)
    once = read_worked(tmp_path)
    assert once >= 100.2
    killed_process(tmp_path, 50.0, once + 50.1)
    assert once + 50.1 <= read_worked(tmp_path) <= 150.0 + time.monotonic() - begun


def test_a_clock_that_is_set_back_gives_no_time_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with at_work(tmp_path, time.monotonic() - 30.0):
        monkeypatch.setattr(time, "time", lambda: 0.0)
    assert read_worked(tmp_path) >= 30.0


def test_a_torn_line_is_cut_off_and_the_others_count(tmp_path: Path) -> None:
    (tmp_path / WORKED).write_bytes(b'{"seconds":5.0}\n{"seco')
    with at_work(tmp_path, time.monotonic()):
        assert read_worked(tmp_path) >= 5.0
    assert read_worked(tmp_path) < 30.0


@pytest.mark.parametrize("line", [b'{"seconds":-5.0}\n', b"{}\n", b"\xff\n"])
def test_a_line_that_would_give_time_back_is_refused(line: bytes, tmp_path: Path) -> None:
    (tmp_path / WORKED).write_bytes(line)
    with pytest.raises(RunError, match=r"worked\.jsonl, line 1 does not say how long"):
        read_worked(tmp_path)

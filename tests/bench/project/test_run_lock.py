"""One process works on a run; the lock ends with it. With real processes."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.errors import RunError
from bench.project import (
    RunFolder,
    claim_run,
    create_run,
    hold_run,
    own_store,
    read_holder,
    refuse_in_progress,
    start_run,
    use_store,
)

HOLD = """
import sys
from pathlib import Path
from bench.project import RunFolder, hold_run
with hold_run(RunFolder(Path(sys.argv[1])), "evolve"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return create_run(tmp_path, "abcdef")


@pytest.fixture
def other(run: RunFolder) -> Iterator["subprocess.Popen[str]"]:
    """Another process that works on the run."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_process_is_refused_and_told_who_has_the_run_since_when(
    run: RunFolder, other: "subprocess.Popen[str]"
) -> None:
    with pytest.raises(RunError) as refusal, hold_run(run, "resume"):
        pass
    stated = rf"process {other.pid} on \S+ since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC \(evolve\)"
    assert re.search(stated, str(refusal.value))
    with pytest.raises(RunError, match=f"cannot be exported.*process {other.pid}"):
        refuse_in_progress(run, "cannot be exported")


def test_kill_9_gives_the_run_back_and_leaves_it_without_an_end(
    run: RunFolder, other: "subprocess.Popen[str]"
) -> None:
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    holder, held = read_holder(run)
    assert holder is not None
    assert (holder.pid, holder.finished_at, holder.code, held) == (other.pid, None, None, False)
    with hold_run(run, "resume") as hold:
        hold.finish(0)


def test_what_is_written_says_how_the_run_ended(tmp_path: Path) -> None:
    with start_run(tmp_path, "abcdef", "bench") as hold:
        assert read_holder(hold.run)[1]
        hold.finish(3)
    holder, held = read_holder(hold.run)
    assert holder is not None
    assert (holder.command, holder.code, held) == ("bench", 3, False)


def test_of_many_that_begin_at_once_one_works_on_a_run(run: RunFolder) -> None:
    start, over = threading.Barrier(8), threading.Barrier(8)
    won: list[bool] = []

    def work() -> None:
        start.wait()
        try:
            with hold_run(run, "resume"):
                won.append(True)
                over.wait()
        except RunError:
            won.append(False)
            over.wait()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]


def test_looking_at_a_run_keeps_nobody_from_working_on_it(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hold_run(run, "evolve"):
        pass
    with (run.path / "lock").open("rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        monkeypatch.setattr("bench.project.lock.time.sleep", lambda _: fcntl.flock(looking, fcntl.LOCK_UN))
        with hold_run(run, "resume"):
            assert read_holder(run)[1]


def test_a_lock_that_nobody_wrote_into_is_one_that_nobody_holds(run: RunFolder) -> None:
    with claim_run(run):
        assert read_holder(run) == (None, True)
    assert read_holder(run) == (None, False)


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"pid": 1}', b"\xff" * 5000], ids=["empty", "torn", "short", "long"]
)
def test_a_lock_that_says_nothing_is_no_obstacle(run: RunFolder, content: bytes) -> None:
    (run.path / "lock").write_bytes(content)
    assert read_holder(run) == (None, False)
    with hold_run(run, "resume") as hold:
        hold.finish(0)
    assert read_holder(run)[0] is not None


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_something_else_in_place_of_a_lock_is_refused_and_not_followed(
    run: RunFolder, kind: str, tmp_path: Path
) -> None:
    place, elsewhere = run.path / "lock", tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    {"link": lambda: place.symlink_to(elsewhere), "pipe": lambda: os.mkfifo(place), "folder": place.mkdir}[
        kind
    ]()
    assert read_holder(run) == (None, False)
    with pytest.raises(RunError, match="cannot lock"), hold_run(run, "resume"):
        pass
    assert elsewhere.read_text() == "mine"


def test_nobody_has_the_store_alone_while_a_run_or_an_apply_uses_it(run: RunFolder) -> None:
    runs = run.path.parent
    with (
        hold_run(run, "evolve"),
        use_store(runs),
        pytest.raises(RunError, match="another process"),
        own_store(runs),
    ):
        pass
    with own_store(runs), pytest.raises(RunError, match="being removed"), use_store(runs):
        pass


def test_an_error_of_the_work_itself_is_not_taken_for_one_of_the_lock(run: RunFolder) -> None:
    with pytest.raises(FileNotFoundError, match="inside"), hold_run(run, "evolve"):
        raise FileNotFoundError("inside")

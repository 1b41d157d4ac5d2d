"""The private folder of a run, with real processes that die."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.errors import ConfigError
from bench.sweep import open_scratch
from bench.sweep.scratch import LOCK, PREFIX
from bench.workspace import remove_tree

HOLD = """
import sys
from pathlib import Path
from bench.sweep import open_scratch

with open_scratch(Path(sys.argv[1])) as folder:
    (folder / "cell").mkdir()
    (folder / "cell" / "file").write_text("paid for")
    print(folder, flush=True)
    sys.stdin.read()
"""


@contextmanager
def other_run(parent: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process that holds a scratch folder until its stdin is closed or it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(parent)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def test_the_folder_is_private_and_gone_at_the_end(tmp_path: Path) -> None:
    with open_scratch(tmp_path) as folder:
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "cell" / "deep").mkdir(parents=True)

    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_gone_after_an_exception_too(tmp_path: Path) -> None:
    def run() -> None:
        with open_scratch(tmp_path) as folder:
            (folder / "closed").mkdir(mode=0o000)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()

    assert list(tmp_path.iterdir()) == []


def test_two_runs_at_once_have_folders_of_their_own(tmp_path: Path) -> None:
    with open_scratch(tmp_path) as first, open_scratch(tmp_path) as second:
        assert first != second
        assert (first / LOCK).is_file()
        assert (second / LOCK).is_file()


def test_a_killed_run_s_folder_is_removed_by_the_next_and_a_living_one_s_is_not(tmp_path: Path) -> None:
    with other_run(tmp_path) as (process, folder), other_run(tmp_path) as (_, in_use):
        kill(process)
        assert (folder / "cell" / "file").read_text() == "paid for"

        with open_scratch(tmp_path) as own:
            assert set(tmp_path.iterdir()) == {own, in_use}
            assert (in_use / "cell" / "file").read_text() == "paid for"


def test_a_folder_that_was_left_half_removed_is_removed_to_its_end(tmp_path: Path) -> None:
    half = tmp_path / f"{PREFIX}half"
    half.mkdir()
    (half / LOCK).touch()

    with open_scratch(tmp_path) as own:
        assert list(tmp_path.iterdir()) == [own]


def test_the_lock_is_the_last_that_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left: dict[str, list[str]] = {}

    def observed(path: Path) -> None:
        left[path.name] = [each.name for each in path.iterdir()]
        remove_tree(path)

    monkeypatch.setattr("bench.sweep.scratch.remove_tree", observed)
    with open_scratch(tmp_path) as folder:
        for name in ("a", "z"):
            (folder / name / "cell").mkdir(parents=True)

    assert left == {"a": ["cell"], "z": ["cell"], folder.name: [LOCK]}


@pytest.mark.parametrize("name", [f"{PREFIX}of-another-program", "incumbent", "cell"])
def test_a_folder_that_is_not_ours_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "lock").write_text("")

    with open_scratch(tmp_path):
        pass

    assert (tmp_path / name / "lock").is_file()


def test_what_a_link_to_an_abandoned_folder_points_to_is_left_alone(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    for name in (LOCK, "file"):
        (precious / name).touch()
    (tmp_path / f"{PREFIX}link").symlink_to(precious)

    with open_scratch(tmp_path):
        pass

    assert (precious / "file").is_file()


def test_many_runs_that_begin_at_once_take_nothing_from_each_other(tmp_path: Path) -> None:
    abandoned = tmp_path / f"{PREFIX}abandoned"
    abandoned.mkdir()
    for name in (LOCK, *map(str, range(50))):
        (abandoned / name).touch()
    program = (
        "import sys\nfrom pathlib import Path\nfrom bench.sweep import open_scratch\n"
        "sys.stdin.read(1)\n"
        "for _ in range(10):\n"
        "    with open_scratch(Path(sys.argv[1])) as folder:\n"
        "        (folder / 'mine').write_text('x')\n"
        "        assert (folder / 'mine').read_text() == 'x'\n"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE)
        for _ in range(3)
    ]
    for run in runs:
        run.communicate(b"x")

    assert [run.returncode for run in runs] == [0, 0, 0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_a_place_that_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()

    with (
        pytest.raises(ConfigError, match=f"sandbox.scratch is not a folder: .*{name}"),
        open_scratch(tmp_path / name),
    ):
        pass


def test_a_folder_that_takes_no_files_is_refused() -> None:
    with (
        pytest.raises(ConfigError, match=r"sandbox\.scratch=/proc cannot be used"),
        open_scratch(Path("/proc")),
    ):
        pass


def test_what_a_killed_trial_of_overlays_left_is_removed_by_the_next_run(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from bench.sandbox import layers
from bench.sandbox.bubblewrap import Bubblewrap
from bench.sandbox.program import bubblewrap_program
from bench.sweep.scratch import open_scratch
from bench.workspace import choose_workspaces
def stop(*arguments):
    print("trying", flush=True)
    sys.stdin.read()
layers._succeeds = stop
with open_scratch(Path(sys.argv[1])) as folder:
    choose_workspaces("auto", Bubblewrap(bubblewrap_program(None)), folder)
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"trying\n"
        process.kill()
    assert list(tmp_path.rglob("layers-*"))
    with open_scratch(tmp_path) as own:
        assert list(tmp_path.iterdir()) == [own]

"""Files that cannot be written or read, streams that are closed: one message with what and where, never a traceback."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evolve.cli
from bench.commandline import run_guarded
from bench.disk import kind_of, read_regular, read_words, write_whole
from bench.durable import write_durably
from bench.errors import RunError
from bench.exits import ExitCode
from bench.project import list_runs, unpack_starter
from bench.results import read_rows
from evolve.errors import ProposalError
from evolve.propose.queue import read_queue

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
DENIED = PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"cannot write .*report\.md: No such file or directory\n  every row"):
        write_whole(tmp_path / "gone" / "report.md", b"x")


def test_a_pipe_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is no regular file"):
        read_regular(tmp_path / "pipe")
    with pytest.raises(ProposalError, match=r"pipe cannot be read: .*no regular file"):
        read_queue(tmp_path / "pipe")


def test_a_file_beyond_its_limit_is_not_read_whole(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"12345")
    assert read_regular(tmp_path / "large", 5) == b"12345"
    with pytest.raises(OSError, match="it holds more than 4 bytes"):
        read_regular(tmp_path / "large", 4)


def test_a_mark_of_the_byte_order_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbfname: x")
    assert read_words(tmp_path / "marked") == "name: x"


def test_what_is_at_a_path_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nothing")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "good").symlink_to(".")
    words = {name: kind_of(tmp_path / name) for name in ("dangling", "loop", "good", "none")}
    lost = "a link that leads nowhere"
    assert words == {"dangling": lost, "loop": lost, "good": "a folder", "none": None}


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/x/y"), 1, "error: /x/y: No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "/x/y"), 2, "error: /x/y: Permission denied"),
        (OSError(errno.EIO, "Input/output error"), 1, "error: a file or folder: Input/output error"),
    ],
)
def test_what_the_system_refuses_is_one_block(
    capsys: pytest.CaptureFixture[str], error: OSError, code: int, said: str
) -> None:
    def command() -> ExitCode:
        raise error

    assert run_guarded(command, debug=False) == code
    assert capsys.readouterr().err.startswith(f"{said}\n  rows that were measured are kept")


def failing_writes(monkeypatch: pytest.MonkeyPatch, name: str, error: OSError) -> None:
    """Writing a file of this name, or below a folder of this name, fails."""

    def wrapped(real: Callable[..., Any]) -> Callable[..., Any]:
        def write(path: Any, *arguments: Any, **options: Any) -> Any:
            if name in Path(os.fsdecode(path)).parts:
                raise OSError(error.errno, error.strerror)
            return real(path, *arguments, **options)

        return write

    monkeypatch.setattr(Path, "write_bytes", wrapped(Path.write_bytes))
    monkeypatch.setattr(Path, "write_text", wrapped(Path.write_text))
    monkeypatch.setattr("bench.disk.write_durably", wrapped(write_durably))
    monkeypatch.setattr("bench.skills.overlay_files._write", wrapped(_real_write()))


def _real_write() -> Callable[..., Any]:
    from bench.skills import overlay_files

    return overlay_files._write


@pytest.mark.parametrize(("error", "code"), [(FULL, 1), (DENIED, 2)], ids=["full", "denied"])
@pytest.mark.parametrize(
    ("name", "rows"),
    [("config.json", 0), ("plan.json", 0), ("report.md", 1), ("proposal.md", 0)],
)
def test_a_file_of_a_run_that_cannot_be_written_ends_it_and_keeps_its_rows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    rows: int,
    error: OSError,
    code: int,
) -> None:
    root = unpack_starter(tmp_path)
    failing_writes(monkeypatch, name, error)
    task = "review-expiry-alerts"
    words = ["--quiet", "--root", str(root), f"tasks.id={task}", f"sandbox.scratch={tmp_path}"]
    assert evolve.cli.main(words) == code
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("error: ") == 1
    assert "Traceback" not in said
    assert name in said
    assert str(error.strerror) in said
    kept = [
        row
        for run in list_runs(root)
        for path in run.path.rglob("results.jsonl")
        for row in read_rows(path)[0]
    ]
    assert len(kept) == 3 * rows


def shell(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    scripts = Path(sys.executable).parent
    line = command.replace("bench", f"{scripts / 'bench'}", 1)
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    return subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


MEASURE = "bench --root project tasks.id=review-expiry-alerts arms=review sandbox.scratch=$PWD"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    unpack_starter(tmp_path).rename(tmp_path / "project")
    return tmp_path


@pytest.mark.parametrize(
    ("redirected", "code", "said"),
    [
        ("", 0, ""),
        ("2>&-", 0, ""),
        ("<&-", 0, ""),
        (">&-", 2, "error: stdout is closed: nobody would see the result"),
        (">/dev/full", 1, "error: standard output: No space left on device"),
        ("2>/dev/full", 0, ""),
        ("--events /dev/full", 1, "error: --events /dev/full: events are missing: No space left on device"),
    ],
)
def test_streams_that_are_closed_or_full_are_told_in_one_block(
    folder: Path, redirected: str, code: int, said: str
) -> None:
    done = shell(f"{MEASURE} {redirected}", folder)
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr + done.stdout
    assert "Exception ignored" not in done.stderr
    assert said in done.stderr
    rows = [row for path in (folder / "project/runs").rglob("results.jsonl") for row in read_rows(path)[0]]
    assert bool(rows) == (code != 2)
    for path in (folder / "project/runs").rglob("results.jsonl"):
        assert all(line.startswith(b"{") for line in path.read_bytes().splitlines())


def test_a_folder_that_is_gone_is_named(folder: Path) -> None:
    done = shell("mkdir gone && cd gone && rmdir ../gone && bench --cfg job", folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: the folder that this was started in cannot be used: No such file")

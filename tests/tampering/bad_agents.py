"""Agents that misbehave. Run inside a cell as `bad_agents.py NAME …`, beside a folder with honesty.py."""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if not __package__:  # in a cell, where an isolated interpreter does not look beside the program
    sys.path.insert(0, str(Path(__file__).parent))

from tests.tampering.honesty import Work, deeds_of, fix, run, wrong_for_three

MEGABYTE = 1 << 20


# What it prints.


def print_a_gigabyte(work: Work) -> None:
    line = '{"type": "message", "text": "' + "x" * (MEGABYTE // 2) + '"}\n'
    for _ in range(2048):
        sys.stdout.write(line)


def print_a_long_line(work: Work) -> None:
    sys.stdout.write("x" * 50 * MEGABYTE)


def print_no_text(work: Work) -> None:
    os.write(1, b'{"type": "message", "text": "\xff\xfe"}\n')


# When it ends.


def hang(work: Work) -> None:
    signal.pause()


def hang_deaf(work: Work) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        signal.pause()


def kill_its_parent(work: Work) -> None:
    fix(work)
    os.kill(os.getppid(), signal.SIGKILL)


def leave_children(work: Work) -> None:
    """In sessions of their own, with its pipes open."""
    fix(work)
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                hang_deaf(work)
            os._exit(0)
        os.wait()


# What it does to its folders.


def fill_a_file(work: Work) -> None:
    fill(work.tree / "full")


def fill_the_memory_disk(work: Work) -> None:
    fill(Path("/tmp/full"))


def fill(path: Path) -> None:
    with path.open("wb") as file:
        while True:
            file.write(b"\0" * MEGABYTE)


def delete_all(work: Work) -> None:
    for folder, names, files in os.walk(work.tree, topdown=False):
        for name in files:
            (Path(folder) / name).unlink()
        for name in names:
            (Path(folder) / name).rmdir()


def forbid_writing(work: Work) -> None:
    fix(work)
    close(work, 0o555)


def forbid_all(work: Work) -> None:
    fix(work)
    close(work, 0)


def close(work: Work, mode: int) -> None:
    for folder, _, files in os.walk(work.tree, topdown=False):
        for name in files:
            (Path(folder) / name).chmod(mode & 0o444)
        Path(folder).chmod(mode)


def leave_a_plan_as_a_folder(work: Work) -> None:
    Path("/output/plan.md").unlink()
    Path("/output/plan.md").mkdir()


def leave_a_plan_as_a_pipe(work: Work) -> None:
    Path("/output/plan.md").unlink()
    os.mkfifo("/output/plan.md")


def leave_notes_as_a_folder(work: Work) -> None:
    fix(work)
    Path("/output/notes.md").mkdir()


# What it leaves that is no ordinary file.


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    yield
    os.chdir(before)


def leave_things(work: Work) -> None:
    with inside(work.tree):
        os.mkfifo("pipe")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket")
        for device in (0, os.makedev(1, 5)):
            try:
                os.mknod(f"device-{device}", 0o20666, device)
            except OSError:
                continue
        with open("sparse", "wb") as file:
            file.truncate(1 << 40)
        with open(b"name-\xff\xfe\n", "wb") as file:
            file.write(b"\xff")
        os.symlink("loop", "loop")


def fix_and_leave_things(work: Work) -> None:
    fix(work)
    leave_things(work)


def fail_and_leave_things(work: Work) -> None:
    wrong_for_three(work)
    leave_things(work)


if __name__ == "__main__":
    run(deeds_of(dict(globals())))

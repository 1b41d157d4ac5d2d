"""Both backends pass the conformance suite; backends that are broken on purpose do not."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
import sandbox_conformance as conformance
from sandbox_cell import Cell, running

from bench.cancellation import Cancellation
from bench.sandbox import Captured, Command, End, Limits, ProcessResult
from bench.sandbox.cgroups import host_places
from bench.sandbox.host import Host


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_a_sandbox(check: conformance.Check, cell: Cell) -> None:
    check(cell)


def test_the_number_of_processes_is_limited(cell: Cell) -> None:
    if "pids" not in {name for place in host_places() for name in place.controllers}:
        pytest.skip("no control group counts processes here")
    source = """if True:
        import os
        count = 0
        try:
            while True:
                if os.fork() == 0:
                    os.read(0, 1)
                    os._exit(0)
                count += 1
        except BlockingIOError:
            print(count)
    """
    assert conformance.shown(cell.script(source, limits=Limits(processes=20))) == b"19\n"


def test_running_out_of_memory_is_named(cell: Cell) -> None:
    if "memory" not in {name for place in host_places() for name in place.controllers}:
        pytest.skip("no control group counts memory here")
    result = cell.script("bytearray(400_000_000)", limits=Limits(memory=200 * 1024 * 1024))
    assert (result.end, result.detail) == (End.KILLED, "out of memory: limit 200 MB")
    assert result.peak_memory is not None
    assert result.peak_memory <= 200 * 1024 * 1024


def test_a_command_leaves_neither_descriptors_nor_control_groups_nor_mounts(cell: Cell) -> None:
    def state() -> tuple[set[str], list[Path], str]:
        groups = [path for place in host_places() for path in place.folder.glob("cell-*")]
        return set(os.listdir("/proc/self/fd")), groups, Path("/proc/self/mountinfo").read_text()

    cell.run("true")
    before = state()
    cell.shell("exit 1", limits=Limits(memory=10**9, processes=100))
    cell.run("no-such-program")
    cell.run("sleep", conformance.token(), seconds=0.2)
    assert state() == before


class InheritsEnvironment(Host):
    """Adds the caller's environment."""

    def run(
        self,
        command: Command,
        cancellation: Cancellation,
        observe: Callable[[bytes], None] | None = None,
    ) -> ProcessResult:
        environment = {**os.environ, **command.environment}
        return super().run(msgspec.structs.replace(command, environment=environment), cancellation, observe)


class ForgetsDescendants(Host):
    """Waits for the command alone."""

    def run(
        self,
        command: Command,
        cancellation: Cancellation,
        observe: Callable[[bytes], None] | None = None,
    ) -> ProcessResult:
        with tempfile.TemporaryFile() as output:
            ended = subprocess.run(command.argv, env=dict(command.environment), stdout=output, check=False)
            output.seek(0)
            head = output.read()
        stdout, nothing = Captured(head, b"", len(head)), Captured(b"", b"", 0)
        return ProcessResult(
            end=End.EXITED, code=ended.returncode, detail="", stdout=stdout, stderr=nothing, seconds=0.0
        )


class IgnoresDeadlines(Host):
    """Lets every command run to its own end, and says so of one that has none."""

    def run(
        self,
        command: Command,
        cancellation: Cancellation,
        observe: Callable[[bytes], None] | None = None,
    ) -> ProcessResult:
        result = super().run(command, cancellation, observe)
        return msgspec.structs.replace(result, end=End.EXITED, code=0, detail="")


class DropsTheMiddle(Host):
    """Stops reading once it has what it keeps."""

    def run(
        self,
        command: Command,
        cancellation: Cancellation,
        observe: Callable[[bytes], None] | None = None,
    ) -> ProcessResult:
        return super().run(msgspec.structs.replace(command, most_output=2 * command.keep), cancellation, observe)


@contextmanager
def left_processes_killed() -> Iterator[None]:
    try:
        yield
    finally:
        for number in range(100_000, 100_200):
            for pid in running(f"{number}.{os.getpid()}"):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("mutant", "check"),
    [
        (InheritsEnvironment, conformance.gives_the_environment_asked_for_and_no_more),
        (ForgetsDescendants, conformance.leaves_no_process_behind),
        (IgnoresDeadlines, conformance.ends_at_the_deadline_whatever_runs),
        (DropsTheMiddle, conformance.reads_much_output_in_little_memory),
    ],
    ids=lambda part: part.__name__,
)
def test_a_broken_sandbox_does_not_pass(
    mutant: type[Host], check: conformance.Check, make_cell: Callable[[Host], Cell]
) -> None:
    with left_processes_killed(), pytest.raises(AssertionError):
        check(make_cell(mutant()))

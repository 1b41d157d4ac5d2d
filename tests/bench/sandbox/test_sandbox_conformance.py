"""Both backends pass the conformance suite; backends that are broken on purpose do not."""

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
import sandbox_conformance as conformance
from sandbox_cell import Cell, running, shown

from bench.cancellation import Cancellation
from bench.errors import SandboxError
from bench.sandbox import Captured, Command, End, Limits, ProcessResult
from bench.sandbox.cgroups import host_places
from bench.sandbox.host import Host
from bench.sandbox.limits import Confinement, Limiter


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_a_sandbox(check: conformance.Check, cell: Cell) -> None:
    check(cell)


def test_the_number_of_processes_is_limited(cell: Cell) -> None:
    if not cast("Any", cell.sandbox)._limiter.enforces("pids"):
        pytest.skip("nothing counts processes here")
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
    assert shown(cell.script(source, limits=Limits(processes=20))) == b"19\n"


def test_running_out_of_memory_is_named(cell: Cell) -> None:
    if "memory" not in {name for place in host_places() for name in place.controllers}:
        pytest.skip("no control group counts memory here")
    result = cell.script("bytearray(400_000_000)", limits=Limits(memory=200 * 1024 * 1024))
    assert (result.end, result.detail) == (End.KILLED, "out of memory: limit 200 MB")
    assert result.peak_memory is not None
    assert result.peak_memory <= 200 * 1024 * 1024


@pytest.mark.parametrize(
    "check",
    [
        conformance.leaves_no_process_behind,
        conformance.ends_at_the_deadline_whatever_runs,
        conformance.refuses_more_memory_than_allowed,
    ],
    ids=lambda check: check.__name__,
)
def test_a_sandbox_without_control_groups(check: conformance.Check, cell: Cell) -> None:
    vars(cell.sandbox)["_limiter"] = Limiter((), root=os.geteuid() == 0, own_users=cell.sandbox.contains)
    check(cell)


def test_commands_that_run_at_once_do_not_disturb_each_other(cell: Cell) -> None:
    def work(number: int) -> bytes:
        late = cell.shell("sleep 1000 & wait", seconds=0.3)
        assert late.end is End.TIMEOUT
        return shown(
            cell.shell('setsid sleep 1000 & cat; echo "$1"', str(number), stdin=b"x" * 200_000, keep=300_000)
        )

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == [b"x" * 200_000 + b"%d\n" % number for number in range(8)]


def test_a_command_that_cannot_be_limited_is_not_run(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(confinement: Confinement, pid: int) -> None:
        raise SandboxError(f"{confinement} {pid}")

    mark = conformance.token()
    monkeypatch.setattr(Confinement, "admit", refuse)
    with pytest.raises(SandboxError):
        cell.shell('touch "$1/started"; sleep "$2"', cell.layout.output, mark)
    assert list((cell.folder / "output").iterdir()) == []
    assert running(mark) == []


def test_a_command_leaves_neither_descriptors_nor_mounts(cell: Cell) -> None:
    def state() -> tuple[set[Path], str]:
        return set(Path("/proc/self/fd").iterdir()), Path("/proc/self/mountinfo").read_text()

    cell.run("true")
    before = state()
    cell.shell("exit 1", limits=Limits(memory=10**9, processes=100))
    cell.run("no-such-program")
    cell.run("sleep", conformance.token(), seconds=0.2)
    assert state() == before


@pytest.mark.parametrize("end", ["exit 0", "exit 1", "kill -9 $$", "exec sleep 1000"])
def test_a_command_leaves_no_control_group(cell: Cell, end: str) -> None:
    places = host_places()
    if not places:
        pytest.skip("no control group can be made here")
    gate = cell.folder / "output" / "gate"
    os.mkfifo(gate)
    result = cell.shell(
        f'echo ready; read -r _ < "$1/gate"; cat /proc/self/cgroup; {end}',
        cell.layout.output,
        seconds=1.0,
        observe=lambda data: None if data != b"ready\n" else gate.write_text("go\n") and None,
    )
    (name,) = set(re.findall("cell-[0-9a-f]+", result.stdout.text()))
    assert not any((place.folder / name).exists() for place in places)


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
        return super().run(
            msgspec.structs.replace(command, most_output=2 * command.keep), cancellation, observe
        )


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

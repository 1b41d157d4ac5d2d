import os
import threading
from pathlib import Path

import pytest

from bench.cancellation import Cancellation
from bench.config import LimitsConfig, SandboxConfig
from bench.errors import SandboxError
from bench.sandbox import BUBBLEWRAP, HOST, End, Layout, Limits, Sandbox, Writable
from bench.scoring import CheckPlace, CheckResult, run_oracle, run_verify
from bench.suite import CommandOracle, OracleFile

FILES = (OracleFile("test.sh", b"grep -q right answer.txt\n"), OracleFile("deep/data.txt", b"\x00\xff"))


def open_backend(name: str, scratch: Path) -> Sandbox:
    limits = LimitsConfig(memory_mb=None, processes=None, file_mb=None, open_files=None)
    factory = {"bubblewrap": BUBBLEWRAP, "host": HOST}[name]
    return factory.create(
        SandboxConfig(
            name=name, workspace="auto", scratch=str(scratch), limits=limits, accept_no_containment=False
        )
    )


class Cell:
    """A cell whose session has ended and left answer.txt."""

    def __init__(self, backend: Sandbox, folder: Path) -> None:
        for name in ("workspace", "home", "temporary", "output"):
            (folder / name).mkdir(parents=True)
        (folder / "workspace" / "answer.txt").write_text("the right answer\n")
        self.sandbox, self.folder = backend, folder
        self.layout: Layout = backend.layout(folder)

    def place(self, seconds: float = 60.0) -> CheckPlace:
        return CheckPlace(
            folder=self.folder,
            layout=self.layout,
            copy=Writable(self.folder / "workspace", self.layout.workspace),
            mounts=(),
            environment={"PATH": "/usr/bin:/bin", "HOME": self.layout.home},
            limits=Limits(),
            seconds=seconds,
            token="t0k3n",
        )

    def verify(self, command: str, **changes: float) -> CheckResult:
        with Cancellation() as cancellation:
            return run_verify(self.sandbox, self.place(**changes), command, cancellation)

    def oracle(self, command: str, files: tuple[OracleFile, ...] = FILES) -> CheckResult:
        """Run a hidden test that says its token if `command` succeeds."""
        return self.silent_oracle(f'read -r token; {{ {command}\n}} && echo "$token"', files)

    def silent_oracle(self, command: str, files: tuple[OracleFile, ...] = FILES) -> CheckResult:
        with Cancellation() as cancellation:
            return run_oracle(self.sandbox, self.place(), CommandOracle(command, files, "", ""), cancellation)


@pytest.fixture(params=["bubblewrap", "host"])
def cell(request: pytest.FixtureRequest, tmp_path: Path) -> Cell:
    return Cell(open_backend(request.param, tmp_path), tmp_path / "cell")


@pytest.fixture
def contained(tmp_path: Path) -> Cell:
    return Cell(open_backend("bubblewrap", tmp_path), tmp_path / "cell")


def test_a_check_passes_exactly_if_its_command_exits_with_0(cell: Cell) -> None:
    assert cell.verify("grep right answer.txt") == CheckResult(
        passed=True,
        exited_zero=True,
        end=End.EXITED,
        seconds=pytest.approx(0, abs=60),
        tail="the right answer\n",
    )
    assert not cell.verify("grep wrong answer.txt").passed


def test_a_check_that_runs_into_its_limit_has_failed(cell: Cell) -> None:
    result = cell.verify("echo begun; while :; do :; done", seconds=0.5)
    assert (result.passed, result.end, result.tail) == (False, End.TIMEOUT, "begun\n")


def test_a_check_that_is_killed_has_failed(contained: Cell) -> None:
    assert not contained.verify("kill -9 $$").passed


def test_the_tail_of_a_check_is_bounded_and_its_end_is_kept(cell: Cell) -> None:
    result = cell.verify("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo last >&2")
    assert len(result.tail) == 4000
    assert result.tail.endswith("line 2999\nlast\n")


def test_a_check_that_cannot_be_started_is_no_failed_check(tmp_path: Path) -> None:
    cell = Cell(open_backend("host", tmp_path), tmp_path / "cell")
    (cell.folder / "workspace").rename(cell.folder / "elsewhere")
    with pytest.raises(SandboxError):
        cell.verify("true")


def test_a_check_that_is_stopped_is_no_failed_check(cell: Cell) -> None:
    (cell.folder / "workspace" / "begun").unlink(missing_ok=True)
    os.mkfifo(cell.folder / "workspace" / "begun")
    with Cancellation() as cancellation:

        def stop_once_it_runs() -> None:
            (cell.folder / "workspace" / "begun").read_bytes()
            cancellation.cancel("deadline")

        stopper = threading.Thread(target=stop_once_it_runs)
        stopper.start()
        with pytest.raises(SandboxError, match="cancelled"):
            run_verify(cell.sandbox, cell.place(), "echo x > begun; while :; do :; done", cancellation)
        stopper.join()


def test_nothing_that_an_agent_left_at_home_is_read_by_a_check(cell: Cell) -> None:
    (cell.folder / "home" / ".profile").write_text("exit 0\n")
    (cell.folder / "home" / ".sitecustomize").write_text("")
    assert cell.verify('test -z "$(ls -A "$HOME")"').passed
    assert not cell.verify("exit 1").passed


def test_a_hidden_test_sees_its_files_and_the_work(cell: Cell) -> None:
    assert cell.oracle('sh "$ORACLE/test.sh"').passed
    assert cell.oracle('test "$(wc -c < "$ORACLE/deep/data.txt")" -eq 2').passed
    (cell.folder / "workspace" / "answer.txt").write_text("wrong\n")
    assert not cell.oracle('sh "$ORACLE/test.sh"').passed


@pytest.mark.parametrize("command", ["exit 0", "echo 0123456789abcdef0123456789abcdef", "cat; echo OK"])
def test_a_hidden_test_that_exits_with_0_without_its_token_as_the_last_line_has_not_passed(
    command: str, cell: Cell
) -> None:
    said = cell.silent_oracle(command)
    assert (said.passed, said.exited_zero) == (False, True)


def test_what_a_hidden_test_prints_is_not_kept(cell: Cell) -> None:
    assert cell.oracle('cat "$ORACLE/test.sh"').tail == ""


def test_the_hidden_files_lie_at_a_place_that_only_the_token_tells_and_cannot_be_written(
    contained: Cell,
) -> None:
    assert contained.oracle('test "$ORACLE" = /oracle-t0k3n').passed
    assert contained.oracle('! echo x > "$ORACLE/test.sh" && ! touch "$ORACLE/new"').passed


def test_the_visible_check_sees_nothing_of_the_hidden_test(contained: Cell) -> None:
    assert contained.verify('test -z "${ORACLE-}" && ! ls / | grep oracle').passed


def test_the_hidden_files_are_gone_afterwards_whatever_happened(cell: Cell) -> None:
    before = {path.name for path in cell.folder.iterdir()}
    cell.oracle("exit 1")
    (cell.folder / "workspace").rename(cell.folder / "elsewhere")
    with pytest.raises(SandboxError):
        cell.oracle("true")
    after = {path.name for path in cell.folder.iterdir() if not path.name.startswith("check-home-")}
    assert after - {"elsewhere"} == before - {"workspace"}


@pytest.mark.parametrize(
    "tampering",
    [
        'chmod u+w "$ORACLE/test.sh"; echo true > "$ORACLE/test.sh"',
        'rm -f "$ORACLE/test.sh"',
        'echo x > "$ORACLE/more"',
        'rm -f "$ORACLE/test.sh"; ln -s "$ORACLE/deep/data.txt" "$ORACLE/test.sh"',
    ],
)
def test_a_hidden_test_whose_files_changed_says_nothing(tampering: str, tmp_path: Path) -> None:
    """Only without containment can they change at all."""
    cell = Cell(open_backend("host", tmp_path), tmp_path / "cell")
    with pytest.raises(SandboxError, match="files changed while it ran"):
        cell.oracle(tampering)


def test_a_check_has_no_network(contained: Cell) -> None:
    assert contained.verify("test \"$(tail -n +3 /proc/net/dev | grep -vc '^ *lo:')\" = 0").passed

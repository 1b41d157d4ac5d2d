"""What every sandbox must do. Each check fails with AssertionError for a backend that does not."""

import itertools
import os
from collections.abc import Callable

import pytest
from sandbox_cell import ENVIRONMENT, Cell, running, shown

from bench.cancellation import Cancellation
from bench.sandbox import End, Limits

Check = Callable[[Cell], None]

_numbers = itertools.count(1)


def token() -> str:
    """How long a process is to sleep that nobody wants to wait for: unlike any other argument on this host."""
    return f"{100_000 + next(_numbers)}.{os.getpid()}"


def reports_the_exit_code(cell: Cell) -> None:
    result = cell.shell("exit 7")
    assert (result.end, result.code) == (End.EXITED, 7)
    assert not result.succeeded


def tells_a_crash_from_an_exit(cell: Cell) -> None:
    result = cell.shell("kill -SEGV $$")
    assert (result.end, result.code, result.detail) == (End.KILLED, None, "killed by SIGSEGV")


def hands_over_all_of_stdin(cell: Cell) -> None:
    data = os.urandom(1_000_000)
    result = cell.run("cat", stdin=data, keep=len(data))
    assert shown(result) == data


def ends_stdin_that_is_empty(cell: Cell) -> None:
    assert shown(cell.run("cat")) == b""


def lets_a_command_ignore_its_stdin(cell: Cell) -> None:
    assert cell.run("true", stdin=b"x" * 1_000_000).succeeded


def gives_the_environment_asked_for_and_no_more(cell: Cell) -> None:
    os.environ["SANDBOX_SECRET"] = "of the host"
    try:
        wanted = {**ENVIRONMENT, "WITH": "blanks and\nlines", "EMPTY": ""}
        entries = shown(cell.run("env", "-0", environment=wanted)).decode().split("\0")
    finally:
        del os.environ["SANDBOX_SECRET"]
    seen = dict(entry.split("=", 1) for entry in entries if entry)
    if not cell.sandbox.contains:
        assert seen.pop("INCUMBENT_CELL")
    assert seen == {**wanted, "PWD": cell.layout.workspace}


def passes_arguments_unchanged(cell: Cell) -> None:
    arguments = ("two words", "two\nlines", "--", "'\"$HOME`", "", "-c", os.fsdecode(b"\xff\xfe"))
    seen = shown(cell.run("printf", "%s\\0", *arguments)).split(b"\0")
    assert tuple(map(os.fsdecode, seen[:-1])) == arguments


def starts_in_the_folder_asked_for(cell: Cell) -> None:
    assert shown(cell.run("pwd", directory=cell.layout.home)).decode() == f"{cell.layout.home}\n"


def ends_at_the_deadline_whatever_runs(cell: Cell) -> None:
    mark = token()
    result = cell.shell(
        'trap "" TERM; setsid sleep "$1" & echo ready; while :; do sleep 1; done', mark, seconds=1.5
    )
    assert (result.end, result.code, result.detail) == (End.TIMEOUT, None, "still running after 1.5 s")
    assert result.stdout.text() == "ready\n"
    assert running(mark) == []


def leaves_no_process_behind(cell: Cell) -> None:
    mark = token()
    result = cell.shell('setsid sleep "$1" & (sleep "$1" >&- 2>&- &) ; echo ready', mark)
    assert shown(result) == b"ready\n"
    assert running(mark) == []


def reads_much_output_in_little_memory(cell: Cell) -> None:
    size, observed = 200_000_000, [0]

    def observe(data: bytes) -> None:
        observed[0] += len(data)

    result = cell.shell(
        'echo first; head -c "$1" /dev/zero; echo last',
        str(size - 11),
        keep=100,
        most_output=size,
        observe=observe,
    )
    assert result.succeeded
    assert (result.stdout.size, observed[0]) == (size, size)
    assert result.stdout.head == b"first\n".ljust(100, b"\0")
    assert result.stdout.tail == b"last\n".rjust(100, b"\0")


def stops_a_command_that_prints_without_end(cell: Cell) -> None:
    result = cell.run("yes", most_output=1_000_000)
    assert (result.end, result.code) == (End.OVERFLOW, None)
    assert result.detail == "printed more than 1000000 bytes"


def keeps_output_that_is_no_text(cell: Cell) -> None:
    result = cell.run("printf", "a\\377\\000b\\n")
    assert shown(result) == b"a\xff\0b\n"
    assert result.stdout.text() == "a\ufffd\0b\n"


def keeps_the_streams_apart(cell: Cell) -> None:
    result = cell.shell("echo out; echo err >&2")
    assert (result.stdout.text(), result.stderr.text()) == ("out\n", "err\n")


def starts_nothing_once_cancelled(cell: Cell) -> None:
    with Cancellation() as cancellation:
        cancellation.cancel("stopped by hand")
        result = cell.shell('touch "$1/started"', cell.layout.output, cancellation=cancellation)
    assert (result.end, result.code, result.detail) == (End.CANCELLED, None, "stopped by hand")
    assert list((cell.folder / "output").iterdir()) == []


def ends_when_cancelled_and_lets_the_command_say_so(cell: Cell) -> None:
    mark = token()
    with Cancellation() as cancellation:
        result = cell.shell(
            'trap "echo bye; exit 0" TERM; sleep "$1" & echo ready; wait',
            mark,
            cancellation=cancellation,
            observe=lambda _: cancellation.cancel("stopped by hand"),
        )
    assert (result.end, result.code, result.detail) == (End.CANCELLED, None, "stopped by hand")
    assert result.stdout.text() == "ready\nbye\n"
    assert running(mark) == []


def does_not_wait_when_in_a_hurry(cell: Cell) -> None:
    with Cancellation() as cancellation:

        def twice(_: bytes) -> None:
            cancellation.cancel("stopped by hand")
            cancellation.cancel("again")

        result = cell.shell(
            'trap "echo bye; exit 0" TERM; sleep "$1" & echo ready; wait',
            token(),
            cancellation=cancellation,
            observe=twice,
        )
    assert (result.end, result.stdout.text()) == (End.CANCELLED, "ready\n")


def raises_what_the_observer_raises(cell: Cell) -> None:
    mark = token()

    def refuse(data: bytes) -> None:
        raise LookupError(data)

    with pytest.raises(LookupError, match="ready"):
        cell.shell('echo ready; sleep "$1"', mark, observe=refuse)
    assert running(mark) == []


def says_that_a_command_cannot_be_started(cell: Cell) -> None:
    (cell.folder / "workspace" / "plain").write_text("no program")
    for argv in (("no-such-program",), ("./plain",), ("./no-such-file",)):
        result = cell.run(*argv)
        assert (result.end, result.code) == (End.SPAWN_FAILED, None)
        assert result.detail.startswith("cannot start")
    assert cell.run("true", directory="/no/such/folder").end is End.SPAWN_FAILED


def keeps_the_descriptors_that_it_is_given(cell: Cell) -> None:
    read, write = os.pipe()
    try:
        assert cell.shell(f"echo through >/proc/self/fd/{write}", inherit=(write,)).succeeded
        assert os.read(read, 100) == b"through\n"
    finally:
        os.close(read)
        os.close(write)


def lets_output_be_written_aside_and_renamed(cell: Cell) -> None:
    script = 'cd "$1" && echo done > report.part && mv report.part report'
    assert cell.shell(script, cell.layout.output).succeeded
    assert (cell.folder / "output" / "report").read_text() == "done\n"


def refuses_more_memory_than_allowed(cell: Cell) -> None:
    source = "data = bytearray(400_000_000); print(len(data))"
    assert cell.script(source).succeeded
    result = cell.script(source, limits=Limits(memory=200_000_000))
    assert not result.succeeded
    assert result.stdout.size == 0


def refuses_files_that_are_larger_than_allowed(cell: Cell) -> None:
    result = cell.shell(
        'head -c 3000000 /dev/zero > "$1/large"', cell.layout.output, limits=Limits(file_size=1_048_576)
    )
    assert not result.succeeded
    assert (cell.folder / "output" / "large").stat().st_size <= 1_048_576


def refuses_more_open_files_than_allowed(cell: Cell) -> None:
    assert shown(cell.shell("ulimit -n", limits=Limits(open_files=64))) == b"64\n"


CHECKS: tuple[Check, ...] = (
    reports_the_exit_code,
    tells_a_crash_from_an_exit,
    hands_over_all_of_stdin,
    ends_stdin_that_is_empty,
    lets_a_command_ignore_its_stdin,
    gives_the_environment_asked_for_and_no_more,
    passes_arguments_unchanged,
    starts_in_the_folder_asked_for,
    ends_at_the_deadline_whatever_runs,
    leaves_no_process_behind,
    reads_much_output_in_little_memory,
    stops_a_command_that_prints_without_end,
    keeps_output_that_is_no_text,
    keeps_the_streams_apart,
    starts_nothing_once_cancelled,
    ends_when_cancelled_and_lets_the_command_say_so,
    does_not_wait_when_in_a_hurry,
    raises_what_the_observer_raises,
    says_that_a_command_cannot_be_started,
    keeps_the_descriptors_that_it_is_given,
    lets_output_be_written_aside_and_renamed,
    refuses_more_memory_than_allowed,
    refuses_files_that_are_larger_than_allowed,
    refuses_more_open_files_than_allowed,
)

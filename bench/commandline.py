"""What both commands share: flags, how errors are printed, how signals stop a run."""

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from bench import __version__
from bench.cancellation import Cancellation
from bench.config import find_root
from bench.disk import is_outage
from bench.errors import BudgetExhausted, BudgetSpent, MeasurementError, NotReproducible, UserError
from bench.exits import ExitCode
from bench.project import unpack_starter
from bench.text import printable


def make_parser(
    program: str, description: str, *, overrides: bool = True, conflicts: str = "error"
) -> argparse.ArgumentParser:
    """A parser with the flags that every command of both programs takes; flags are never abbreviated. With
    `conflicts="resolve"` a command may give one of them a meaning of its own.
    """
    parser = argparse.ArgumentParser(
        prog=program,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        conflict_handler=conflicts,
    )
    add = parser.add_argument
    add("--root", metavar="DIR", help="the project (default: the nearest folder above with evolve.toml)")
    add(
        "--config-dir",
        metavar="DIR",
        action="append",
        default=[],
        help="a conf folder that comes before all others",
    )
    add("--cfg", choices=["job"], help="print the composed configuration and stop")
    add("--info", choices=["defaults-tree"], help="print where the configuration comes from and stop")
    add("--quiet", action="store_true", help="say only what went wrong, and the result")
    add("--json", action="store_true", help="print the result as one JSON object on stdout")
    add("--debug", action="store_true", help="show the traceback of an error")
    add("--version", action="version", version=f"incumbent {__version__}")
    if overrides:
        add("overrides", nargs="*", metavar="override", help="group=option or key=value")
    return parser


def add_multirun_arguments(parser: argparse.ArgumentParser) -> None:
    """`-m` and what goes with it."""
    add = parser.add_argument
    add(
        "-m",
        "--multirun",
        action="store_true",
        help="a run for each combination of the values that overrides and sweep: blocks give (docs/multirun.md)",
    )
    add(
        "--max-failures",
        metavar="N",
        type=_count,
        help="with -m: begin no further point once more than N have failed (default: go on)",
    )


def _count(word: str) -> int:
    number = int(word)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number


def run_guarded(command: Callable[[], ExitCode], *, debug: bool) -> int:
    """Run a command; a wrong request is one block on stderr and exit 2, a bug keeps its traceback."""
    try:
        return int(_delivered(command))
    except BrokenPipeError:
        return int(ExitCode.UNUSABLE)  # whoever read has seen enough
    except (UserError, MeasurementError, OSError) as error:
        if debug:
            traceback.print_exc()
        _tell(f"error: {_block(_said(error))}")
        return int(_exit_of(error))
    except KeyboardInterrupt:
        _tell("interrupted")
        return int(ExitCode.INTERRUPTED)
    finally:
        _let_go()


def hold_streams() -> None:
    """Open /dev/null in place of standard streams that are closed, before a file of a run gets their number and
    what is meant for people ends in it. A closed stdout stays None: `run_guarded` refuses it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - as long as the process


def _delivered(command: Callable[[], ExitCode]) -> ExitCode:
    """Run a command whose output really arrives."""
    if sys.stdout is None:
        raise UserError("stdout is closed: nobody would see the result\n  send it to a file, or to /dev/null")
    code = command()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from error
    return code


def _let_go() -> None:
    """Let what can no longer be printed go nowhere, so that the end of the process does not trip over it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _tell(message: str) -> None:
    """A message on stderr; where that is full or gone, nobody can be told."""
    with suppress(OSError, ValueError):
        print(message, file=sys.stderr, flush=True)


def _said(error: Exception) -> str:
    """The message of an error; of one that the system raised, what it was about."""
    if not isinstance(error, OSError):
        return str(error)
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    what = f"{' and '.join(names) or 'a file or folder'}: {error.strerror or error}"
    return f"{what}\n  rows that were measured are kept; --debug shows where it happened"


def _exit_of(error: Exception) -> ExitCode:
    if isinstance(error, BudgetSpent | BudgetExhausted):
        return ExitCode.BUDGET
    if isinstance(error, NotReproducible):
        return ExitCode.CANNOT
    wrong = isinstance(error, UserError | OSError) and not is_outage(error)
    return ExitCode.REQUEST if wrong else ExitCode.UNUSABLE


def project_root(explicit: str | None, say: Callable[[str], None]) -> Path:
    """The project to work on: the nearest one, or the starter project, unpacked once below ./runs."""
    here = current_folder()
    root = find_root(here, None if explicit is None else Path(explicit))
    if root is not None:
        return root
    there = (here / "runs" / "starter").exists()
    starter = unpack_starter(here)
    say(
        f"no project here (no evolve.toml): {'using' if there else 'unpacked'} the starter project in {starter}"
    )
    return starter


def current_folder() -> Path:
    """Where the command was started; UserError if that folder is gone."""
    try:
        return Path.cwd()
    except OSError as error:
        raise UserError(
            f"the folder that this was started in cannot be used: {error.strerror}\n  cd to one that exists"
        ) from error


def config_dirs(named: Sequence[str]) -> tuple[Path, ...]:
    """The folders of `--config-dir`, each of which must exist."""
    folders = tuple(Path(name).resolve() for name in named)
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"--config-dir {folder} is not a folder")
    return folders


@contextmanager
def cancel_on_signals(*, quiet: bool) -> Iterator[Cancellation]:
    """SIGINT, SIGTERM and SIGHUP (a closed terminal) cancel; the second one hurries."""
    with Cancellation() as cancellation:

        def stop(number: int, _frame: FrameType | None) -> None:
            first = not cancellation.cancelled
            cancellation.cancel(signal.Signals(number).name)
            if first and not quiet:
                # not print(): the handler may have interrupted one
                os.write(2, b"stopping: rows are kept; press Ctrl-C again to stop without waiting\n")

        before = {
            number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        try:
            yield cancellation
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def say_to(quiet: bool) -> Callable[[str], None]:
    """How a command speaks while it works: to stderr, so that stdout holds results only."""
    return (lambda _message: None) if quiet else (lambda message: _tell(printable(message)))


def _block(message: str) -> str:
    return "\n".join(printable(line) for line in message.splitlines())

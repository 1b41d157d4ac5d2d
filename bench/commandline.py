"""What both commands share: flags, how errors are printed, how signals stop a run."""

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from bench import __version__
from bench.cancellation import Cancellation
from bench.config import find_root
from bench.errors import BudgetSpent, IncumbentError, MeasurementError, UserError
from bench.exits import ExitCode
from bench.project import unpack_starter
from bench.text import printable


def make_parser(program: str, description: str, *, overrides: bool = True) -> argparse.ArgumentParser:
    """A parser with the flags that every command of both programs takes; flags are never abbreviated."""
    parser = argparse.ArgumentParser(
        prog=program,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
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


def run_guarded(command: Callable[[], ExitCode], *, debug: bool) -> int:
    """Run a command; a wrong request is one block on stderr and exit 2, a bug keeps its traceback."""
    try:
        return int(command())
    except (UserError, MeasurementError) as error:
        if debug:
            traceback.print_exc()
        print(f"error: {_block(str(error))}", file=sys.stderr)
        return int(_exit_of(error))
    except BrokenPipeError:
        sys.stderr.close()
        return int(ExitCode.UNUSABLE)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return int(ExitCode.INTERRUPTED)


def _exit_of(error: IncumbentError) -> ExitCode:
    if isinstance(error, BudgetSpent):
        return ExitCode.BUDGET
    return ExitCode.REQUEST if isinstance(error, UserError) else ExitCode.UNUSABLE


def project_root(explicit: str | None, say: Callable[[str], None]) -> Path:
    """The project to work on: the nearest one, or the starter project, unpacked once below ./runs."""
    root = find_root(Path.cwd(), None if explicit is None else Path(explicit))
    if root is not None:
        return root
    there = (Path.cwd() / "runs" / "starter").exists()
    starter = unpack_starter(Path.cwd())
    say(
        f"no project here (no evolve.toml): {'using' if there else 'unpacked'} the starter project in {starter}"
    )
    return starter


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
    return (lambda _message: None) if quiet else (lambda message: print(printable(message), file=sys.stderr))


def _block(message: str) -> str:
    return "\n".join(printable(line) for line in message.splitlines())

"""The command `bench`. Heavy imports wait until a command needs them: `--help` answers at once."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.commandline import (
    add_multirun_arguments,
    hold_streams,
    make_parser,
    project_root,
    run_guarded,
    say_to,
)
from bench.exits import ExitCode

_DESCRIPTION = """\
Measure arms on the tasks of a suite, without evolving anything, and report.

  bench [overrides]             measure the incumbent and comparator arms
  bench -m model=a,b effort=low,high
                                a run for each combination; one table and one picture of all
  bench prepare SUITE           fetch what a suite is made of; it then runs offline
  bench validate SUITE          certify each task: right solutions pass; wrong, empty and cheating ones do not
  bench new-task --from-commit SHA
                                a task made of a commit that repaired something, with its tests as the hidden ones
  bench resume RUN              go on with a run that was interrupted; nothing is paid twice
  bench debug RUN --cell TASK/ARM/REPEAT
                                run one cell again and look into its sandbox
  bench store verify|gc|export RUN --to FILE|import FILE
                                the artifacts of all runs: check, clean up, move elsewhere
  bench config which|tree|explain [KEY]
                                where a setting comes from, and what it means

Overrides are Hydra's: suite=wild tasks.split=train arms=review workers=4; all groups but proposer and promotion.
Without a project (no evolve.toml above), the embedded starter project is unpacked below ./runs/starter.
Exit codes: 0 measured, 1 unusable evidence or an outage, 2 a wrong request, 3 budget or deadline, 4 a check says no,
130 interrupted."""

_STORE = """\
The object store of a project, runs/objects, which holds the artifacts of all its runs.

  verify              re-hash every object; is all there that a row of a run names? exit 4 if not
  gc [--keep RUN …]   remove what no run mentions, or none of those that are kept; never while a run is in progress
  export RUN --to F   one file with the run, its artifacts and their digests
  import F            take such a file in, all of it or nothing, once every digest was checked"""

_VALIDATE = """\
Certify the tasks of a suite, in the sandbox: nothing, an emptied file, wrong solutions and solutions that cheat must
fail, the reference must pass, and the same solution must end the same way each time. No model is called.

The reference of a task with a hidden test is its `solutions.reference`; the right review follows from the labels.
What was found out is written beside the suite, to certificate.json; promotion.certified=true asks for it.
Exit code 0: every task that was tried is certified; 4: not all are."""

_NEW_TASK = """\
Make a task of a commit that repaired something: its parent is the starting state, its message the prompt, its tests the
hidden ones, its change the reference. The tests are run in the sandbox with and without the change first.

Refused, with the reason: a commit without tests, with two purposes, with tests in another language than Python, a
merge, the first commit, and one whose parent does not pass its own tests here. Nothing is written then."""

_RESUME = """\
Go on with a run of bench that was stopped, killed or cut off: what was measured stays, sessions that ended are not
paid again, cells that failed or were stopped are measured again. Refused if what they depend on was changed since."""

_DEBUG = """\
Run one cell of a finished run again, as its saved configuration says, and open a shell in its sandbox once its
sessions are over. The shell sees what they left, below a layer that is thrown away, and not the hidden test.
Nothing is added to the run, and everything is removed in the end."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The entry point; returns the exit code."""
    hold_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    command = words.pop(0) if words and words[0] in _COMMANDS else "run"
    options = _COMMANDS[command]().parse_intermixed_args(words)
    return run_guarded(lambda: _dispatch(command, options), debug=options.debug)


def _dispatch(command: str, options: argparse.Namespace) -> ExitCode:
    say = say_to(options.quiet)
    if command == "debug":
        from bench.cli_debug import debug  # noqa: PLC0415

        return debug(options, project_root(options.root, say), say)
    if command == "store":
        from bench.cli_store import store  # noqa: PLC0415

        return store(options)
    if command == "resume":
        return _resume(options, say)
    root = project_root(options.root, say)
    if command == "config" or options.cfg or options.info:
        from bench.cli_config import show_config  # noqa: PLC0415

        return show_config(options, root, "bench")
    if command in ("prepare", "validate", "new-task"):
        return _on_suite(command, options, root, say)
    return _measure(options, root, say)


def _measure(options: argparse.Namespace, root: Path, say: Callable[[str], None]) -> ExitCode:
    if options.multirun:
        from bench.run_many import bench_many  # noqa: PLC0415

        return bench_many(options, root, say)
    from bench.run import bench  # noqa: PLC0415

    return bench(options, root, say)


def _on_suite(command: str, options: argparse.Namespace, root: Path, say: Callable[[str], None]) -> ExitCode:
    """The commands that are about a suite and measure nothing."""
    if command == "prepare":
        from bench.cli_prepare import prepare  # noqa: PLC0415

        return prepare(options, root, say)
    if command == "new-task":
        from bench.newtask import new_task  # noqa: PLC0415

        return new_task(options, root, say)
    from bench.certificate import validate  # noqa: PLC0415

    return validate(options, root, say)


def _resume(options: argparse.Namespace, say: Callable[[str], None]) -> ExitCode:
    if Path(options.run).name.startswith("sweep-"):
        from bench.run_many import resume_many  # noqa: PLC0415

        return resume_many(options, say)
    from bench.run import resume  # noqa: PLC0415

    return resume(options, say)


def _run_parser() -> argparse.ArgumentParser:
    parser = make_parser("bench", _DESCRIPTION)
    add_multirun_arguments(parser)
    parser.add_argument(
        "--events", metavar="FILE", help="write every event as a JSON line to FILE (- for stdout)"
    )
    return parser


def _prepare_parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "bench prepare", "Fetch what a suite is made of. It then runs offline.", overrides=False
    )
    parser.add_argument("suite", help="an option of the group suite, such as wild")
    parser.add_argument(
        "--index", metavar="DIR", help="a folder of wheels that is used instead of the package index"
    )
    parser.add_argument("overrides", nargs="*", metavar="override", help="group=option or key=value")
    return parser


def _validate_parser() -> argparse.ArgumentParser:
    parser = make_parser("bench validate", _VALIDATE, overrides=False)
    add = parser.add_argument
    add("suite", help="an option of the group suite, such as starter")
    add(
        "--runs",
        metavar="N",
        type=_times,
        default=3,
        help="tries of what must always end the same (default 3)",
    )
    add(
        "--task",
        metavar="ID",
        action="append",
        default=[],
        help="only these tasks; a pattern such as 'fix-*'",
    )
    add("overrides", nargs="*", metavar="override", help="group=option or key=value")
    return parser


def _new_task_parser() -> argparse.ArgumentParser:
    parser = make_parser("bench new-task", _NEW_TASK, overrides=False)
    add = parser.add_argument
    add("--from-commit", metavar="SHA", required=True, help="the commit that repaired something")
    add("--repo", metavar="PATH", help="the top folder of its repository (default: the project)")
    add("--suite", metavar="NAME", default="mine", help="the suite that gets the task (default: mine)")
    add("--id", metavar="NAME", help="the task's name (default: from the commit's subject)")
    add("--requirements", metavar="FILE", help="pinned packages that its tests need, pytest say")
    add("--one-purpose", action="store_true", help="you have read the commit: it does one thing")
    add("overrides", nargs="*", metavar="override", help="group=option or key=value")
    return parser


def _times(word: str) -> int:
    number = int(word)
    if number not in range(1, 101):
        raise argparse.ArgumentTypeError("must be between 1 and 100")
    return number


def _config_parser() -> argparse.ArgumentParser:
    from bench.cli_config import add_config_arguments  # noqa: PLC0415

    parser = make_parser("bench config", "Where a setting comes from, and what it means.", overrides=False)
    add_config_arguments(parser)
    return parser


def _store_parser() -> argparse.ArgumentParser:
    parser = make_parser("bench store", _STORE, overrides=False)
    add = parser.add_argument
    add("action", choices=["verify", "gc", "export", "import"], help="what to do")
    add("words", nargs="*", metavar="RUN or FILE", help="export: the run; import: the file")
    add(
        "--keep",
        metavar="RUN",
        nargs="+",
        action="extend",
        default=[],
        help="gc: what only other runs mention goes",
    )
    add("--dry-run", action="store_true", help="gc: say what would be removed, and remove nothing")
    add("--to", metavar="FILE", help="export: the new file, such as run.tar.gz")
    add(
        "--most", metavar="GIB", type=float, help="import: the most that the file may unpack to (default: 16)"
    )
    return parser


def _resume_parser() -> argparse.ArgumentParser:
    parser = make_parser("bench resume", _RESUME, overrides=False)
    parser.add_argument(
        "run", metavar="RUN", help="its id, the beginning of its id, or its folder; or a sweep"
    )
    parser.add_argument(
        "--events", metavar="FILE", help="write every event as a JSON line to FILE (- for stdout)"
    )
    return parser


def _debug_parser() -> argparse.ArgumentParser:
    parser = make_parser("bench debug", _DEBUG, overrides=False)
    parser.add_argument("run", metavar="RUN", help="a run's id or folder, or a generation of it: RUN/gen-1")
    parser.add_argument("--cell", metavar="TASK/ARM/REPEAT", required=True, help="the cell to run again")
    parser.add_argument("--command", metavar="CMD", help="a shell command to run there, instead of a shell")
    return parser


_COMMANDS = {
    "run": _run_parser,
    "prepare": _prepare_parser,
    "validate": _validate_parser,
    "new-task": _new_task_parser,
    "config": _config_parser,
    "debug": _debug_parser,
    "resume": _resume_parser,
    "store": _store_parser,
}

"""The command `evolve`. Heavy imports wait until a command needs them: `--help` answers at once."""

import argparse
import sys
from collections.abc import Sequence

from bench.commandline import make_parser, project_root, run_guarded, say_to
from bench.exits import ExitCode

_DESCRIPTION = """\
Decide by controlled experiment whether a changed agent skill ships.

  evolve [overrides]            propose, measure, decide: one generation (or generations=N)
  evolve plan [overrides]       what that would measure and cost; pays nothing
  evolve apply RUN              take over what a run promoted; --dry-run shows it, --revert takes it back
  evolve reuse explain RUN      from where each row of a run came, or why its cell had to be measured
  evolve config which|tree|explain [KEY]
                                where a setting comes from, and what it means

Overrides are Hydra's: suite=wild generations=4 tasks.split=train promotion.options.min_improvement=0.02
Without a project (no evolve.toml above), the embedded starter project is unpacked below ./runs/starter.
Exit codes: 0 a verdict was reached, 1 unusable evidence or an outage, 2 a wrong request, 3 budget or deadline,
130 interrupted."""


_APPLY = """\
Take over what a run promoted: replace the files of the skill and its mirrors, all of them or none.

The decision is reached again from the run's rows first. Evidence that is edited, partial, older than 90 days or
not confined is refused, as are files that are not the ones that were measured. The result is an ordinary change
of your working tree; nothing is committed."""

_REUSE = """\
From where the row of each cell of a generation came: from which earlier row, or why none could stand for it, with
the first thing that was another one, and both its values. Reads the sealed plan; measures nothing."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The entry point; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    command = words.pop(0) if words and words[0] in _COMMANDS else "run"
    options = _COMMANDS[command]().parse_intermixed_args(words)
    return run_guarded(lambda: _dispatch(command, options), debug=options.debug)


def _dispatch(command: str, options: argparse.Namespace) -> ExitCode:
    say = say_to(options.quiet)
    if command == "apply":
        from evolve.apply import apply_command  # noqa: PLC0415

        return apply_command(options, say)
    root = project_root(options.root, say)
    if command == "config" or options.cfg or options.info:
        from bench.cli_config import show_config  # noqa: PLC0415

        return show_config(options, root, "evolve")
    if command == "reuse":
        from evolve.cli_reuse import explain  # noqa: PLC0415

        return explain(options, root, say)
    from evolve import run  # noqa: PLC0415

    return run.plan(options, root, say) if command == "plan" else run.evolve(options, root, say)


def _run_parser() -> argparse.ArgumentParser:
    parser = make_parser("evolve", _DESCRIPTION)
    parser.add_argument(
        "--events", metavar="FILE", help="write every event as a JSON line to FILE (- for stdout)"
    )
    return parser


def _plan_parser() -> argparse.ArgumentParser:
    return make_parser(
        "evolve plan", "What `evolve` would measure and cost with the same overrides. Pays nothing."
    )


def _apply_parser() -> argparse.ArgumentParser:
    parser = make_parser("evolve apply", _APPLY, overrides=False)
    parser.add_argument("run", metavar="RUN", help="its id, the beginning of its id, or its folder")
    parser.add_argument("--dry-run", action="store_true", help="print the diff and change nothing")
    parser.add_argument("--revert", action="store_true", help="put back what was there before it was applied")
    return parser


def _reuse_parser() -> argparse.ArgumentParser:
    parser = make_parser("evolve reuse", _REUSE, overrides=False)
    parser.add_argument("action", choices=["explain"], help="explain: say it cell by cell")
    parser.add_argument(
        "run", metavar="RUN", help="its id, the beginning of its id, or its folder; also RUN/gen-N"
    )
    parser.add_argument("--cell", metavar="TASK/ARM/REPEAT", help="only this cell, its values in full")
    return parser


def _config_parser() -> argparse.ArgumentParser:
    from bench.cli_config import add_config_arguments  # noqa: PLC0415

    parser = make_parser("evolve config", "Where a setting comes from, and what it means.", overrides=False)
    add_config_arguments(parser)
    return parser


_COMMANDS = {
    "run": _run_parser,
    "plan": _plan_parser,
    "apply": _apply_parser,
    "reuse": _reuse_parser,
    "config": _config_parser,
}

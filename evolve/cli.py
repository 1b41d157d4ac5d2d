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
  evolve verdict RUN            reach a verdict again from its rows, or ask another policy; --explain, --diff A B
  evolve certify RUN|SUITE      how often the policy is wrong, and how often right, for this design
  evolve config which|tree|explain [KEY]
                                where a setting comes from, and what it means

Overrides are Hydra's: suite=wild generations=4 tasks.split=train promotion.options.min_improvement=0.02
Without a project (no evolve.toml above), the embedded starter project is unpacked below ./runs/starter.
Exit codes: 0 a verdict was reached, 1 unusable evidence or an outage, 2 a wrong request, 3 budget or deadline,
4 certify found a broken bound, 130 interrupted."""


_APPLY = """\
Take over what a run promoted: replace the files of the skill and its mirrors, all of them or none.

The decision is reached again from the run's rows first. Evidence that is edited, partial, older than 90 days or
not confined is refused, as are files that are not the ones that were measured. The result is an ordinary change
of your working tree; nothing is committed."""


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
    if command == "verdict":
        from evolve.replay import verdict_command  # noqa: PLC0415

        return verdict_command(options, root)
    if command == "certify" and not (options.cfg or options.info):
        from evolve.certify import certify_command  # noqa: PLC0415

        return certify_command(options, root, say)
    if command == "config" or options.cfg or options.info:
        from bench.cli_config import show_config  # noqa: PLC0415

        return show_config(options, root, "evolve")
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


def _verdict_parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "evolve verdict", "Reach a stored verdict again, byte for byte. Pays nothing.", overrides=False
    )
    add = parser.add_argument
    add("run", metavar="RUN", nargs="?", help="its id, the beginning of its id, or its folder")
    add("--generation", type=int, metavar="N", help="which generation of the run (default: the last one)")
    add(
        "--policy",
        action="append",
        default=[],
        metavar="OVERRIDE",
        help="decide by another policy: --policy promotion=exact --policy promotion.options.alpha=0.01",
    )
    add("--explain", action="store_true", help="what would change the decision, task by task")
    add("--diff", nargs=2, metavar=("A", "B"), help="what the verdicts of two runs say differently")
    return parser


def _certify_parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "evolve certify",
        "How often the configured policy promotes what is no better. Pays nothing.",
        overrides=False,
    )
    add = parser.add_argument
    add("target", metavar="RUN|SUITE", help="a run, whose own rows are used too; or a suite, for its design")
    add("overrides", nargs="*", metavar="override", help="the policy: promotion=exact key=value")
    add("--trials", type=_positive, default=400, metavar="N", help="simulated sweeps per line (default 400)")
    add("--seed", type=int, default=0, metavar="N", help="the same seed gives the same numbers (default 0)")
    add(
        "--bound",
        type=float,
        metavar="X",
        help="the error to hold (default: what the policy promises, else 0.05)",
    )
    add("--svg", metavar="FILE", help="write the operating characteristic as a picture")
    return parser


def _positive(word: str) -> int:
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _config_parser() -> argparse.ArgumentParser:
    from bench.cli_config import add_config_arguments  # noqa: PLC0415

    parser = make_parser("evolve config", "Where a setting comes from, and what it means.", overrides=False)
    add_config_arguments(parser)
    return parser


_COMMANDS = {
    "run": _run_parser,
    "plan": _plan_parser,
    "apply": _apply_parser,
    "verdict": _verdict_parser,
    "certify": _certify_parser,
    "config": _config_parser,
}

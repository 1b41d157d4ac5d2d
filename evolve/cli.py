"""The command `evolve`. Heavy imports wait until a command needs them: `--help` answers at once."""

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
Decide by controlled experiment whether a changed agent skill ships.

  evolve [overrides]            propose, measure, decide: one generation (or generations=N)
  evolve init                   make a project of your repository, with one task out of its history
  evolve doctor                 what works on this machine, and how to get what does not
  evolve -m model=a,b effort=low,high
                                a run for each combination, one joint verdict, table and picture
  evolve plan [overrides]       what that would measure and cost; pays nothing
  evolve resume RUN             go on with a run that was interrupted; nothing is paid twice
  evolve topup RUN              measure again what failed in its last generation, and decide again
  evolve apply RUN              take over what a run promoted; --dry-run shows it, --revert takes it back
  evolve verdict RUN            reach a verdict again from its rows, or ask another policy; --explain, --diff A B
  evolve certify RUN|SUITE      how often the policy is wrong, and how often right, for this design
  evolve runs list|show RUN|prune
                                what is there, how far a run is (--follow), what may go
  evolve reuse explain RUN      from where each row of a run came, or why its cell had to be measured
  evolve reproduce RUN[/gen-N]  every drift since, and the same verdict again: --verdict, --replay, --rerun
  evolve recipe RUN             the words of a run, composed again from today's files
  evolve diff RUN RUN           two runs side by side: configuration, what was read, verdict, tasks
  evolve lock verify RUN        what a run read, and what of it is no longer as it was
  evolve rehearse [overrides]   a few cells of it against a scripted model: what would have failed; pays nothing
  evolve agents install NAME|list
                                the command-line programs of coding agents: get them, see what is there
  evolve config which|tree|explain [KEY]
                                where a setting comes from, and what it means

Overrides are Hydra's: suite=wild generations=4 tasks.split=train promotion.options.search_alpha=0.1
Without a project (no evolve.toml above), the embedded starter project is unpacked below ./runs/starter.
Exit codes: 0 a verdict was reached, 1 unusable evidence or an outage, 2 a wrong request, 3 budget or deadline,
4 certify found a broken bound or rehearse a fault, 5 something drifted, 6 cannot be reproduced, 130 interrupted."""


_APPLY = """\
Take over what a run promoted: replace the files of the skill and its mirrors, all of them or none.

The decision is reached again from the run's rows first. Evidence that is edited, partial, older than 90 days or
not confined is refused, as are files that are not the ones that were measured. The result is an ordinary change
of your working tree; nothing is committed."""

_RESUME = """\
Go on with a run that was stopped, killed or cut off, as if it had not been: same plan, same order, same
budget: the time between its processes does not count.

What was measured stays. Sessions that ended are not paid again: what they left is scored. Cells that failed or were
stopped are measured again, as new attempts. Refused if the suite, a skill, the agent or this program was changed
since; then start a new run: rows that still hold are reused."""

_TOPUP = """\
Measure again what failed or was stopped in the last generation of a run, and decide again on all of its cells."""

_RUNS = """\
The runs of a project, those of `evolve` and those of `bench`.

  list                what is there, its state, its decisions, what it takes on disk
  show RUN            one run; --follow prints each cell of a run in progress as it finishes, until the run ends
  prune --keep N      remove all but the newest N; or --older-than DAYS. A run in progress stays, and one whose
                      promotion was not applied, unless --force. Their artifacts go with: bench store gc"""

_INIT = """\
Make a project of the git repository that you are in: evolve.toml, a conf/ that builds on the built-in options, a skill
to begin with, and a suite with one task made of a commit, the newest one that makes a task which can be relied on.

The task is certified (bench validate) before anything is written. Refused, with nothing written: a folder that has an
evolve.toml or a conf/ already, a repository without tests, and one whose commits make no task: the reasons are counted."""

_DOCTOR = """\
What works here: git, the sandbox, overlays, limits, agents with their versions, whether keys are set; and how to get
what does not. What the project's own defaults need is marked NO if it is missing. Nothing is written or sent.
Exit code 0: all that is needed works; 4: something does not."""

_REUSE = """\
From where the row of each cell of a generation came: from which earlier row, or why none could stand for it, with
the first thing that was another one, and both its values. Reads the sealed plan; measures nothing."""

_LOCK = """\
The lock of a generation: all that it read, sealed before its first cell (generation.lock.json).

  verify RUN[/gen-N]  every skill, prompt, task, oracle, price, program and file that is no longer what it was, with
                      both values. Exit code 0 if there is none, 5 if there is, 6 for a lock that cannot be believed"""

_REPRODUCE = """\
A generation done again. First every drift since its lock was written is listed, with both values. The run itself is
never written to.

  --verdict   (default) artifacts are hashed, scores computed again from them, the verdict from the rows
  --replay    the sweep once more, answered from the cassettes that were recorded: a new run that costs nothing
  --rerun     the sweep once more, paid again: a new run whose parent is this lock

Exit codes: 0 identical, 5 something drifted or came out otherwise, 6 it cannot be reproduced."""

_WAYS = {
    "verdict": "compute scores and verdict again from what is there (default)",
    "replay": "live through the sweep again from its cassettes, in a new run",
    "rerun": "pay for the sweep again, in a new run",
}

_REHEARSE = """\
Live through a few cells of the configured generation (same suite, arms, sandbox and agent), one task for each arm,
with a scripted model in place of the real one. Says what would have failed after paying: a key or a price that is
missing, a program that does not start, a skill that is not found, an artifact that cannot be written, a visible check
that cannot be run, an effort that no request carries. Nothing is paid, and nothing is added to the project's runs."""

_AGENTS = """\
The command-line programs of coding agents (claude_code, codex, opencode, pi), each pinned with its integrity.

  install NAME …      fetch them through npm or pip into runs/prepared/agents of the project; they then work offline
  list                name, version, tested versions, digest and path of what is there

Nothing is installed globally, and no install script of a package is run. Each program is started once in the
sandbox, to see that it works."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The entry point; returns the exit code."""
    hold_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    command = words.pop(0) if words and words[0] in _COMMANDS else "run"
    options = _COMMANDS[command]().parse_intermixed_args(words)
    return run_guarded(lambda: _dispatch(command, options), debug=options.debug)


def _dispatch(command: str, options: argparse.Namespace) -> ExitCode:
    say = say_to(options.quiet)
    if command in _ON_RUNS:
        return _on_runs(command, options, say)
    if command in ("doctor", "init"):
        return _without_project(command, options, say)
    root = project_root(options.root, say)
    if command == "config" or options.cfg or options.info:
        from bench.cli_config import show_config  # noqa: PLC0415

        return show_config(options, root, "evolve")
    if command in ("agents", "certify", "rehearse", "reuse"):
        return _free(command, options, root, say)
    if options.multirun:
        from evolve.multirun import many, plan_many  # noqa: PLC0415

        return plan_many(options, root) if command == "plan" else many(options, root, say)
    from evolve import run  # noqa: PLC0415

    return run.plan(options, root, say) if command == "plan" else run.evolve(options, root, say)


def _without_project(command: str, options: argparse.Namespace, say: Callable[[str], None]) -> ExitCode:
    """The commands that are used where there is no project yet."""
    if command == "doctor":
        from evolve.doctor import doctor_command  # noqa: PLC0415

        return doctor_command(options)
    from evolve.init import init_command  # noqa: PLC0415

    return init_command(options, say)


def _free(command: str, options: argparse.Namespace, root: Path, say: Callable[[str], None]) -> ExitCode:
    """The commands that pay nothing and add nothing to the project's runs."""
    if command == "agents":
        from bench.cli_agents import agents  # noqa: PLC0415

        return agents(options, root, say)
    if command == "rehearse":
        from evolve.rehearse import rehearse_command  # noqa: PLC0415

        return rehearse_command(options, root, say)
    if command == "certify":
        from evolve.certify import certify_command  # noqa: PLC0415

        return certify_command(options, root, say)
    from evolve.cli_reuse import explain  # noqa: PLC0415

    return explain(options, root, say)


def _on_runs(command: str, options: argparse.Namespace, say: Callable[[str], None]) -> ExitCode:
    """The commands that find their project by a run that is there."""
    if command == "apply":
        from evolve.apply import apply_command  # noqa: PLC0415

        return apply_command(options, say)
    if command == "runs":
        from evolve.runs import runs_command  # noqa: PLC0415

        return runs_command(options, say)
    if command in ("reproduce", "recipe", "diff", "lock"):
        return _again(command, options, say)
    if command == "verdict":
        from evolve.replay import verdict_command  # noqa: PLC0415

        return verdict_command(options)
    if command == "resume" and Path(options.run).name.startswith("sweep-"):
        from evolve.multirun import resume_many  # noqa: PLC0415

        return resume_many(options, say)
    from evolve import resume  # noqa: PLC0415

    options.command = command
    return (resume.resume if command == "resume" else resume.topup)(options, say)


def _again(command: str, options: argparse.Namespace, say: Callable[[str], None]) -> ExitCode:
    """The commands that set a generation beside what it would be now, or beside another one."""
    if command == "lock":
        from evolve.lock import lock_command  # noqa: PLC0415

        return lock_command(options)
    from evolve import reproduce  # noqa: PLC0415

    if command == "reproduce":
        return reproduce.reproduce_command(options, say)
    return reproduce.recipe_command(options) if command == "recipe" else reproduce.diff_command(options)


def _run_parser() -> argparse.ArgumentParser:
    parser = make_parser("evolve", _DESCRIPTION)
    add_multirun_arguments(parser)
    parser.add_argument(
        "--events", metavar="FILE", help="write every event as a JSON line to FILE (- for stdout)"
    )
    return parser


def _init_parser() -> argparse.ArgumentParser:
    parser = make_parser("evolve init", _INIT, overrides=False)
    add = parser.add_argument
    add(
        "--from-commit",
        metavar="SHA",
        help="the commit to make the task of (default: the newest that will do)",
    )
    add("--suite", metavar="NAME", default="mine", help="the name of the suite (default: mine)")
    add("--requirements", metavar="FILE", help="pinned packages that its tests need, pytest say")
    add(
        "--one-purpose",
        action="store_true",
        help="commits are taken to do one thing, whatever their messages say",
    )
    add("overrides", nargs="*", metavar="override", help="group=option or key=value")
    return parser


def _doctor_parser() -> argparse.ArgumentParser:
    return make_parser("evolve doctor", _DOCTOR, overrides=False)


def _plan_parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "evolve plan", "What `evolve` would measure and cost with the same overrides. Pays nothing."
    )
    add_multirun_arguments(parser)
    return parser


def _rehearse_parser() -> argparse.ArgumentParser:
    return make_parser("evolve rehearse", _REHEARSE)


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


def _resume_parser() -> argparse.ArgumentParser:
    return _going_on("resume", _RESUME)


def _topup_parser() -> argparse.ArgumentParser:
    return _going_on("topup", _TOPUP)


def _going_on(command: str, description: str) -> argparse.ArgumentParser:
    parser = make_parser(f"evolve {command}", description, overrides=False)
    parser.add_argument(
        "run", metavar="RUN", help="its id, the beginning of its id, or its folder; resume: also a sweep"
    )
    parser.add_argument(
        "--events", metavar="FILE", help="write every event as a JSON line to FILE (- for stdout)"
    )
    return parser


def _runs_parser() -> argparse.ArgumentParser:
    parser = make_parser("evolve runs", _RUNS, overrides=False)
    add = parser.add_argument
    add("action", choices=["list", "show", "prune"], help="what to do")
    add("words", nargs="*", metavar="RUN", help="show: its id, the beginning of its id, or its folder")
    add("--follow", action="store_true", help="show: a line for each cell, until the run ends")
    add("--keep", metavar="N", type=int, help="prune: how many of the newest runs stay")
    add("--older-than", metavar="DAYS", type=float, help="prune: runs that began earlier go")
    add("--dry-run", action="store_true", help="prune: say what would be removed, and remove nothing")
    add("--force", action="store_true", help="prune: also promotions that were not applied")
    return parser


def _lock_parser() -> argparse.ArgumentParser:
    parser = make_parser("evolve lock", _LOCK, overrides=False)
    parser.add_argument("action", choices=["verify"], help="verify: compare it with what there is today")
    parser.add_argument("run", metavar="RUN[/gen-N]", help="a run, or one of its generations")
    return parser


def _reproduce_parser() -> argparse.ArgumentParser:
    parser = make_parser("evolve reproduce", _REPRODUCE, overrides=False)
    add = parser.add_argument
    add("run", metavar="RUN[/gen-N]", help="a run with one generation, or one of its generations")
    ways = parser.add_mutually_exclusive_group()
    for way, said in _WAYS.items():
        ways.add_argument(
            f"--{way}", dest="way", action="store_const", const=way, default="verdict", help=said
        )
    add("--cassettes", metavar="DIR", help="replay: where the cassettes are now (default: in its folder)")
    add("--events", metavar="FILE", help="write every event as a JSON line to FILE (- for stdout)")
    return parser


def _recipe_parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "evolve recipe",
        "The words of a run, composed again from today's files. Pays nothing.",
        overrides=False,
    )
    parser.add_argument("run", metavar="RUN", help="its id, the beginning of its id, or its folder")
    return parser


def _diff_parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "evolve diff",
        "Two generations side by side: configuration, what was read, verdict, effects by task. Pays nothing.",
        overrides=False,
    )
    parser.add_argument("first", metavar="RUN", help="a run (its last verdict), or RUN/gen-N")
    parser.add_argument("second", metavar="RUN", help="the other one")
    return parser


def _reuse_parser() -> argparse.ArgumentParser:
    parser = make_parser("evolve reuse", _REUSE, overrides=False)
    parser.add_argument("action", choices=["explain"], help="explain: say it cell by cell")
    parser.add_argument(
        "run", metavar="RUN", help="its id, the beginning of its id, or its folder; also RUN/gen-N"
    )
    parser.add_argument("--cell", metavar="TASK/ARM/REPEAT", help="only this cell, its values in full")
    return parser


def _agents_parser() -> argparse.ArgumentParser:
    parser = make_parser("evolve agents", _AGENTS, overrides=False, conflicts="resolve")
    add = parser.add_argument
    add("action", choices=["install", "list"], help="what to do")
    add("words", nargs="*", metavar="NAME", help="install: the agents")
    add("--version", dest="to_version", metavar="V", help="install: another version than the pinned one")
    add("--with", dest="way", choices=["npm", "pip"], help="install: how it is fetched (default: npm)")
    return parser


def _config_parser() -> argparse.ArgumentParser:
    from bench.cli_config import add_config_arguments  # noqa: PLC0415

    parser = make_parser("evolve config", "Where a setting comes from, and what it means.", overrides=False)
    add_config_arguments(parser)
    return parser


_COMMANDS = {
    "run": _run_parser,
    "init": _init_parser,
    "doctor": _doctor_parser,
    "plan": _plan_parser,
    "rehearse": _rehearse_parser,
    "apply": _apply_parser,
    "verdict": _verdict_parser,
    "certify": _certify_parser,
    "resume": _resume_parser,
    "topup": _topup_parser,
    "runs": _runs_parser,
    "reuse": _reuse_parser,
    "lock": _lock_parser,
    "reproduce": _reproduce_parser,
    "recipe": _recipe_parser,
    "diff": _diff_parser,
    "agents": _agents_parser,
    "config": _config_parser,
}
_ON_RUNS = frozenset({"apply", "diff", "lock", "recipe", "reproduce", "resume", "runs", "topup", "verdict"})

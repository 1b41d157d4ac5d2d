"""What `evolve resume` and `evolve topup` do: a run goes on where an earlier process left it."""

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from bench.cli_resume import saved_config_of, tidy
from bench.cli_run import open_events
from bench.commandline import cancel_on_signals, config_dirs
from bench.config import Config, read_overrides
from bench.digest import digest_json
from bench.errors import RunError
from bench.exits import ExitCode
from bench.project import RunFolder, find_project, find_run, hold_run, read_holder
from bench.results import read_rows
from bench.skills import Overlay, read_overlay
from bench.sweep import (
    canonical_skills,
    counting_work,
    extent,
    open_ground,
    paying_campaign,
    read_plan,
)
from bench.text import printable
from bench.watch import RunFinished, RunStarted
from evolve.desk import open_errands, was_proposing
from evolve.gate import load_policy
from evolve.generation import Conditions
from evolve.looking import missing_cells
from evolve.loop import RunResult, run_generations
from evolve.promoted import START
from evolve.propose import create_proposer
from evolve.release import release_campaign
from evolve.run import deciding, print_result

Say = Callable[[str], None]


_TOPUP = "topup"


class Extent(Struct, frozen=True):
    """How far a run is to go: its generations, the one of which what failed is measured again, and whether the run
    came to its end before.
    """

    generations: int
    again: int | None
    ended: bool = False


def resume(options: argparse.Namespace, say: Say) -> ExitCode:
    """Go on with a run that was interrupted, as if it had not been: what was measured or paid stays."""
    return _go_on(options, say, rest_of)


def topup(options: argparse.Namespace, say: Say) -> ExitCode:
    """Measure again what failed in a run's last generation, and decide again."""
    return _go_on(options, say, _missing)


def _go_on(
    options: argparse.Namespace, say: Say, extent_of: Callable[[RunFolder, Config, Say], Extent]
) -> ExitCode:
    root = find_project(options.run, options.root, Path.cwd())
    run = find_run(root, options.run)
    config = _own_config(run)
    proposing, promotion = deciding(config)
    policy, proposer = load_policy(promotion), create_proposer(proposing, root)
    campaign = release_campaign(config, policy, root)
    canonical, start = canonical_skills(config, root), start_of(run, config)
    extent = extent_of(run, config, say)
    tidy(run)
    with (
        hold_run(run, f"evolve {options.command}") as hold,
        cancel_on_signals(quiet=options.quiet) as cancellation,
        open_ground(config, root, config_dirs(options.config_dir), cancellation, run) as ground,
        counting_work(ground, run),
        paying_campaign(config, root, ground.means),
        open_events(options, sys.stderr) as watcher,
    ):
        watcher.see(
            RunStarted(run=run.id, folder=str(run.path), root=str(root), configuration=digest_json(config))
        )
        conditions = Conditions(
            ground=ground,
            policy=policy,
            run=run,
            watcher=watcher,
            cancellation=cancellation,
            resumed=True,
            ended=extent.ended,
            again=extent.again,
            campaign=campaign,
            errands=open_errands(proposer, ground, config_dirs(options.config_dir)),
        )
        result: RunResult = run_generations(conditions, proposer, canonical, start, extent.generations)
        hold.finish(int(result.code))
        watcher.see(RunFinished(run=run.id, code=int(result.code)))
    print_result(
        options, run, result, ground, shlex.join(["evolve", *read_overrides(run.path / "config.json")])
    )
    return result.code


def _own_config(run: RunFolder) -> Config:
    """The configuration of a run of `evolve`. RunError for a run of `bench`, and for one that did not begin."""
    config = saved_config_of(run)
    if config.proposer is None or config.promotion is None:
        raise RunError(
            f"run {printable(run.id)} is one of bench, which decides nothing\n"
            f"  go on with it: bench resume {printable(run.id)}"
        )
    return config


def rest_of(run: RunFolder, config: Config, say: Say) -> Extent:
    """All that is left of the run; of one that came to a verdict, nothing is."""
    holder, _ = read_holder(run)
    last = _last_begun(run)
    if holder is not None and holder.code == ExitCode.VERDICT and not holder.command.endswith(_TOPUP):
        say(f"run {printable(run.id)} came to its end: nothing is left to measure")
        return Extent(last, None, ended=True)
    broken = holder is not None and holder.code == ExitCode.UNUSABLE
    return Extent(config.generations, last if broken else None)


def _missing(run: RunFolder, _config: Config, say: Say) -> Extent:
    """The last generation alone. RunError if there is nothing in it to measure again."""
    last = _last_begun(run)
    folder = run.path / f"gen-{last}"
    if last == 0:
        raise RunError(
            f"run {printable(run.id)} has no generation to top up: nothing was measured\n"
            f"  go on with it: evolve resume {printable(run.id)}"
        )
    if not (folder / "promotion.json").exists():
        raise RunError(
            f"generation {last} of run {printable(run.id)} was interrupted: there is no decision on it yet\n"
            f"  go on with it first: evolve resume {printable(run.id)}"
        )
    plan, _ = read_plan(folder / "plan.json")
    missing = missing_cells(plan, read_rows(folder / "results.jsonl")[0], extent(folder, plan).spared)
    if not missing:
        raise RunError(
            f"{folder} has nothing to top up: all {len(plan.cells)} cells were measured\n"
            "  for more evidence, start a new run with more repeats; what holds is reused"
        )
    say(f"generation {last}: {len(missing)} of {len(plan.cells)} cells are measured again")
    return Extent(last, last)


def _last_begun(run: RunFolder) -> int:
    """The number of the last generation whose plan was sealed; 0 if there is none."""
    numbers = [path.parent.name[4:] for path in run.path.glob("gen-*/plan.json")]
    return max((int(number) for number in numbers if number.isdecimal()), default=0)


def start_of(run: RunFolder, config: Config) -> Overlay | None:
    """What the run was built on. RunError for a run that was killed before that was kept for certain."""
    folder = run.path / START
    begun = _last_begun(run) or was_proposing(run)
    if config.proposer is not None and config.proposer.unapplied == "build_on" and not begun:
        raise RunError(
            f"run {printable(run.id)} was killed before its first plan was sealed: nothing of it was measured\n"
            "  start a new run with the same words"
        )
    return read_overlay(folder, config.skills) if folder.exists() else None

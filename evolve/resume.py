"""What `evolve resume` and `evolve topup` do: a run goes on where an earlier process left it."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from bench.cli_run import open_events
from bench.commandline import cancel_on_signals, config_dirs
from bench.config import Config, read_saved_config
from bench.digest import digest_json
from bench.errors import RunError
from bench.exits import ExitCode
from bench.project import RunFolder, find_project, find_run, hold_run, read_holder
from bench.results import read_rows
from bench.skills import Overlay, read_overlay
from bench.sweep import Standing, canonical_skills, open_ground, paying_campaign, read_plan
from bench.text import printable
from bench.watch import RunFinished, RunStarted
from evolve.gate import load_policy
from evolve.generation import Conditions
from evolve.loop import RunResult, run_generations
from evolve.promoted import START
from evolve.propose import create_proposer
from evolve.run import deciding, print_result, release_campaign

Say = Callable[[str], None]


class _Extent(Struct, frozen=True):
    """How far a run is to go: its generations, and the one of which what failed is measured again."""

    generations: int
    again: int | None


def resume(options: argparse.Namespace, say: Say) -> ExitCode:
    """Go on with a run that was interrupted, as if it had not been: what was measured or paid stays."""
    return _go_on(options, say, _rest)


def topup(options: argparse.Namespace, say: Say) -> ExitCode:
    """Measure again what failed in a run's last generation, and decide again."""
    return _go_on(options, say, _missing)


def _go_on(
    options: argparse.Namespace, say: Say, extent_of: Callable[[RunFolder, Config, Say], _Extent]
) -> ExitCode:
    root = find_project(options.run, options.root, Path.cwd())
    run = find_run(root, options.run)
    config = read_saved_config(run.path / "config.json")
    proposing, promotion = deciding(config)
    policy, proposer = load_policy(promotion), create_proposer(proposing, root)
    campaign = release_campaign(config, policy, root)
    canonical, start = canonical_skills(config, root), _start(run, config)
    extent = extent_of(run, config, say)
    with (
        hold_run(run, f"evolve {options.command}") as hold,
        cancel_on_signals(quiet=options.quiet) as cancellation,
        open_ground(config, root, config_dirs(options.config_dir), cancellation) as ground,
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
            again=extent.again,
            campaign=campaign,
        )
        result: RunResult = run_generations(conditions, proposer, canonical, start, extent.generations)
        hold.finish(int(result.code))
        watcher.see(RunFinished(run=run.id, code=int(result.code)))
    print_result(options, run, result, ground, f"evolve resume {printable(run.id)}")
    return result.code


def _rest(run: RunFolder, config: Config, say: Say) -> _Extent:
    """All that is left of the run; of one that came to a verdict, nothing is."""
    holder, _ = read_holder(run)
    last = _last_begun(run)
    if holder is not None and holder.code == ExitCode.VERDICT:
        say(f"run {printable(run.id)} came to its end: nothing is left to measure")
        return _Extent(last, None)
    broken = holder is not None and holder.code == ExitCode.UNUSABLE
    return _Extent(config.generations, last if broken else None)


def _missing(run: RunFolder, _config: Config, say: Say) -> _Extent:
    """The last generation alone. RunError if there is nothing in it to measure again."""
    last = _last_begun(run)
    folder = run.path / f"gen-{last}"
    if last == 0:
        raise RunError(f"run {printable(run.id)} has no generation to top up\n  go on with it: evolve resume")
    plan, _ = read_plan(folder / "plan.json")
    standing = Standing.of(read_rows(folder / "results.jsonl")[0])
    missing = [cell for cell in plan.cells if not standing.settled(cell.key)]
    if not missing:
        raise RunError(
            f"{folder} has nothing to top up: all {len(plan.cells)} cells were measured\n"
            "  for more evidence, start a new run with more repeats; what holds is reused"
        )
    say(f"generation {last}: {len(missing)} of {len(plan.cells)} cells are measured again")
    return _Extent(last, last)


def _last_begun(run: RunFolder) -> int:
    """The number of the last generation whose plan was sealed; 0 if there is none."""
    numbers = [int(path.parent.name[4:]) for path in run.path.glob("gen-*/plan.json")]
    return max(numbers, default=0)


def _start(run: RunFolder, config: Config) -> Overlay | None:
    """What the run was built on."""
    folder = run.path / START
    return read_overlay(folder, config.skills) if folder.exists() else None

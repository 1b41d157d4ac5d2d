"""One point of a multirun of `bench`: a run like any other, which shares budget and rows with its siblings."""

import argparse
from collections.abc import Callable
from pathlib import Path

from bench.cli_resume import tidy
from bench.cli_run import Loaded
from bench.config import Config
from bench.digest import digest_json
from bench.exits import ExitCode
from bench.multirun import Beginning, Sweeping, Turn, Ways, bench_conclusion, resume_sweep, start_sweep
from bench.project import RUNS, RunFolder, hold_run, keep_store, removed_if_refused, start_run
from bench.run import close, own_plan, started
from bench.skills import required_arms
from bench.sweep import (
    canonical_skills,
    counting_work,
    make_arms,
    measure_plan,
    open_ground,
    paying_campaign,
    read_sealed,
    refuse_changed,
    refuse_solved,
    refuse_unaffordable,
    refuse_unfinishable,
    seal_plan,
    sweep_on,
    with_reuse,
)

Say = Callable[[str], None]


def bench_many(options: argparse.Namespace, root: Path, say: Say) -> ExitCode:
    """Run `bench` once for each point."""
    return start_sweep(options, root, say, _WAYS)


def resume_many(options: argparse.Namespace, say: Say) -> ExitCode:
    """Go on with a sweep of `bench`."""
    return resume_sweep(options, say, _WAYS)


def _run(turn: Turn, sweeping: Sweeping) -> ExitCode:
    run = None if turn.earlier is None else RunFolder(sweeping.root / RUNS / turn.earlier)
    if run is None or not (run.path / "plan.json").exists():
        return _anew(turn, sweeping)
    return _further(turn, sweeping, run)


def _anew(turn: Turn, sweeping: Sweeping) -> ExitCode:
    config, root, cancellation = turn.loaded.config, sweeping.root, turn.cancellation
    canonical, selected = canonical_skills(config, root), _arms(config)
    with (
        open_ground(config, root, turn.loaded.folders, cancellation, siblings=turn.siblings) as ground,
        paying_campaign(config, root, ground.means),
        keep_store(root),
    ):
        refuse_solved(ground, cancellation)
        arms = make_arms(ground, selected, canonical)
        sealed = with_reuse(ground, seal_plan(ground, selected, 0, None), arms, cancellation)
        refuse_unaffordable(ground, sealed.plan.paid)
        for note in sealed.notes:
            sweeping.say(f"note: {note}")
        with start_run(root, digest_json(config), "bench") as hold:
            run = hold.run
            turn.begun(run.id)
            with removed_if_refused(run):
                turn.loaded.save(run.path)
            sweeping.watcher.see(started(run, root, config))
            with counting_work(ground, run):
                result = measure_plan(ground, sealed, arms, run, run.path, sweeping.watcher, cancellation)
            return close(hold, sweeping.watcher, ground, sealed.plan, result)


def _further(turn: Turn, sweeping: Sweeping, run: RunFolder) -> ExitCode:
    config, root, cancellation = turn.loaded.config, sweeping.root, turn.cancellation
    plan = own_plan(run, config)
    tidy(run)
    with (
        hold_run(run, "bench resume") as hold,
        open_ground(config, root, turn.loaded.folders, cancellation, run, turn.siblings) as ground,
        counting_work(ground, run),
        paying_campaign(config, root, ground.means),
    ):
        sweeping.watcher.see(started(run, root, config))
        arms = make_arms(ground, _arms(config), canonical_skills(config, root))
        refuse_changed(ground, plan, arms, run.path)
        refuse_unfinishable(ground, plan, run.path, run)
        sealed = read_sealed(run.path, plan)
        result = sweep_on(ground, sealed, arms, run, run.path, sweeping.watcher, cancellation)
        return close(hold, sweeping.watcher, ground, plan, result)


def _arms(config: Config) -> tuple[str, ...]:
    return tuple(required_arms(config.arms, None))


def _begin(_options: argparse.Namespace, _first: Loaded, _root: Path, _say: Say) -> Beginning:
    """`bench` has nothing to offer, and nothing to keep beside the plan."""
    return Beginning(go=True, keep=lambda _folder: None)


_WAYS = Ways(
    command="bench",
    arms=_arms,
    overlay=None,
    begin=_begin,
    run=_run,
    conclude=bench_conclusion,
)

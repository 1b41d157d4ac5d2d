"""`evolve -m`: one run for each point, one proposal for all of them, one joint verdict."""

import argparse
from collections.abc import Callable
from pathlib import Path

from bench.cli_run import Loaded
from bench.config import Config
from bench.exits import ExitCode
from bench.multirun import (
    MULTIRUN_VERSION,
    Beginning,
    Concluded,
    Files,
    MultirunPlan,
    Reached,
    Sweeping,
    Turn,
    Ways,
    dots_of,
    plan_sweep,
    resume_sweep,
    start_sweep,
)
from bench.skills import Overlay, freeze_overlay, read_overlay
from bench.sweep import canonical_skills
from evolve.gate import load_policy
from evolve.multirun.points import Shared, run_point
from evolve.multirun.result import EvolveSweep, joint_lines, joint_verdicts, judged, with_decisions
from evolve.promoted import START
from evolve.release import refuse_unreleased
from evolve.run import built_on, deciding, pending_promotion, print_offer

Say = Callable[[str], None]

_ANY = "any"  # the overlay that will be proposed


def many(options: argparse.Namespace, root: Path, say: Say) -> ExitCode:
    """Run `evolve` once for each point; first comes an earlier promotion that nobody applied."""
    return start_sweep(options, root, say, _WAYS)


def plan_many(options: argparse.Namespace, root: Path) -> ExitCode:
    """Print the plan of a multirun; pays nothing."""
    return plan_sweep(options, root, _WAYS)


def resume_many(options: argparse.Namespace, say: Say) -> ExitCode:
    """Go on with a multirun."""
    return resume_sweep(options, say, _WAYS)


def _begin(options: argparse.Namespace, first: Loaded, root: Path, say: Say) -> Beginning:
    """Offer a pending promotion instead, or keep what every point is built on."""
    proposing, promotion = deciding(first.config)
    canonical = canonical_skills(first.config, root)
    pending = pending_promotion(first.config, root, canonical, say)
    if pending is not None and proposing.unapplied == "offer":
        print_offer(options, pending, root)
        return Beginning(go=False, keep=lambda _folder: None)
    start = None
    if proposing.unapplied == "build_on":
        refuse_unreleased(pending, load_policy(promotion))
        start = built_on(pending, canonical, root)
    return Beginning(go=True, keep=lambda folder: _keep(start, folder))


def _keep(start: Overlay | None, folder: Path) -> None:
    if start is not None:
        freeze_overlay(start, folder / START)


def _run(turn: Turn, sweeping: Sweeping) -> ExitCode:
    kept = sweeping.files.folder / START
    shared = Shared(
        root=sweeping.root,
        watcher=sweeping.watcher,
        cancellation=turn.cancellation,
        start=read_overlay(kept, turn.loaded.config.skills) if kept.exists() else None,
        say=sweeping.say,
    )
    return run_point(turn, shared)


def _arms(config: Config) -> tuple[str, ...]:
    return tuple(config.arms)


def _conclude(plan: MultirunPlan, found: tuple[Reached, ...], files: Files, code: ExitCode) -> Concluded:
    known = tuple(judged(found))
    points = with_decisions([each.point for each in found], known)
    joint = joint_verdicts(known, points)
    document = EvolveSweep(
        schema_version=MULTIRUN_VERSION,
        sweep=files.folder.name,
        folder=str(files.folder),
        command=plan.command,
        most=plan.most,
        joint=joint,
        points=points,
        dots=dots_of(found, plan.seed),
        report=str(files.report),
        picture=str(files.picture),
        at_most=plan.at_most,
        usd=round(sum(each.usd for each in points), 6),
        code=int(code),
    )
    return Concluded(document, points, tuple(joint_lines(joint)))


_WAYS = Ways(
    command="evolve",
    arms=_arms,
    overlay=_ANY,
    begin=_begin,
    run=_run,
    conclude=_conclude,
)

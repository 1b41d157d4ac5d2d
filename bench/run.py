"""What `bench` does, from overrides to the last line on the screen."""

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from bench.cli_resume import saved_config_of, tidy
from bench.cli_run import (
    announce,
    confirmed,
    load,
    open_events,
    print_json,
    results_to,
)
from bench.commandline import cancel_on_signals, config_dirs
from bench.config import Config, read_overrides
from bench.digest import digest_json
from bench.disk import write_whole
from bench.errors import RunError
from bench.exits import ExitCode
from bench.project import (
    Hold,
    RunFolder,
    find_project,
    find_run,
    hold_run,
    keep_store,
    removed_if_refused,
    start_run,
)
from bench.results import exit_code, health, render_report
from bench.skills import required_arms
from bench.spend import OUT_OF_BUDGET
from bench.sweep import (
    Ground,
    Plan,
    SweepResult,
    canonical_skills,
    counting_work,
    expect_costs,
    make_arms,
    measure_plan,
    open_ground,
    paying_campaign,
    read_plan,
    read_sealed,
    refuse_changed,
    refuse_solved,
    refuse_unaffordable,
    refuse_unfinishable,
    seal_plan,
    sweep_on,
    sweep_report,
    with_reuse,
)
from bench.text import printable
from bench.watch import RunFinished, RunStarted, Watcher

Say = Callable[[str], None]
REPORT = "report.md"


class BenchSummary(Struct, frozen=True, kw_only=True):
    """What `bench --json` prints (schemas/bench-summary.schema.json)."""

    run: str
    folder: str
    report: str
    cells: int
    paid: int
    reused: int
    rows: int
    stopped: str | None
    drift: str | None
    code: int


def bench(options: argparse.Namespace, root: Path, say: Say) -> ExitCode:
    """Measure the incumbent and comparator arms and report them."""
    loaded = load(options, root, "bench")
    canonical = canonical_skills(loaded.config, root)
    selected = required_arms(loaded.config.arms, None)
    with (
        cancel_on_signals(quiet=options.quiet) as cancellation,
        open_ground(loaded.config, root, loaded.folders, cancellation) as ground,
        paying_campaign(loaded.config, root, ground.means),
        keep_store(root),
    ):
        announce(loaded, ground, say)
        refuse_solved(ground, cancellation)
        arms = make_arms(ground, selected, canonical)
        sealed = with_reuse(ground, seal_plan(ground, selected, 0, None), arms, cancellation)
        refuse_unaffordable(ground, sealed.plan.paid)
        for note in sealed.notes:
            say(f"note: {note}")
        costs = expect_costs(ground, sealed.plan.paid)
        if costs.paid and not confirmed(loaded.config, costs.sentence(), cancellation):
            return ExitCode.INTERRUPTED
        with (
            open_events(options, sys.stderr) as watcher,
            start_run(root, digest_json(loaded.config), "bench") as hold,
        ):
            run = hold.run
            with removed_if_refused(run):
                loaded.save(run.path)
            watcher.see(started(run, root, loaded.config))
            with counting_work(ground, run):
                result = measure_plan(ground, sealed, arms, run, run.path, watcher, cancellation)
            code = close(hold, watcher, ground, sealed.plan, result)
    _print(options, run, sealed.plan, result, code)
    return code


def resume(options: argparse.Namespace, say: Say) -> ExitCode:
    """Go on with a run of `bench` that was interrupted: what was measured or paid stays."""
    root = find_project(options.run, options.root, Path.cwd())
    run = find_run(root, options.run)
    config = saved_config_of(run)
    plan = own_plan(run, config)
    tidy(run)
    selected = required_arms(config.arms, None)
    with (
        hold_run(run, "bench resume") as hold,
        cancel_on_signals(quiet=options.quiet) as cancellation,
        open_ground(config, root, config_dirs(options.config_dir), cancellation, run) as ground,
        counting_work(ground, run),
        paying_campaign(config, root, ground.means),
        open_events(options, sys.stderr) as watcher,
    ):
        say(f"going on with run {printable(run.id)}")
        watcher.see(started(run, root, config))
        arms = make_arms(ground, selected, canonical_skills(config, root))
        refuse_changed(ground, plan, arms, run.path)
        refuse_unfinishable(ground, plan, run.path, run)
        result = sweep_on(ground, read_sealed(run.path, plan), arms, run, run.path, watcher, cancellation)
        code = close(hold, watcher, ground, plan, result)
    _print(options, run, plan, result, code)
    return code


def own_plan(run: RunFolder, config: Config) -> Plan:
    """The sealed plan of a run of `bench`. RunError if it is none, or was killed before."""
    if config.proposer is not None:
        raise RunError(
            f"run {printable(run.id)} is one of evolve\n  go on with it: evolve resume {printable(run.id)}"
        )
    if not (run.path / "plan.json").exists():
        raise RunError(
            f"run {printable(run.id)} was killed before its plan was sealed: nothing of it was measured\n"
            "  start a new run with the same words"
        )
    return read_plan(run.path / "plan.json")[0]


def started(run: RunFolder, root: Path, config: Config) -> RunStarted:
    """What a watcher is told first."""
    return RunStarted(run=run.id, folder=str(run.path), root=str(root), configuration=digest_json(config))


def close(hold: Hold, watcher: Watcher, ground: Ground, plan: Plan, result: SweepResult) -> ExitCode:
    """Report what was measured, and say that the run came to its end."""
    code = exit_code(health(result.rows, ground.roles(plan.arms)), result.stopped)
    write_whole(hold.run.path / REPORT, render_report(sweep_report(ground, plan, result)).encode())
    hold.finish(int(code))
    watcher.see(RunFinished(run=hold.run.id, code=int(code)))
    return code


def _print(
    options: argparse.Namespace, run: RunFolder, plan: Plan, result: SweepResult, code: ExitCode
) -> None:
    report = run.path / REPORT
    summary = BenchSummary(
        run=run.id,
        folder=str(run.path),
        report=str(report),
        cells=len(plan.cells),
        paid=len(plan.paid),
        reused=len(plan.cells) - len(plan.paid),
        rows=len({row.key for row in result.rows}),
        stopped=result.stopped,
        drift=result.drift,
        code=int(code),
    )
    if options.json:
        print_json(summary)
    else:
        print(f"\n{report.read_text('utf-8')}\nreport: {report}", file=results_to(options))
    if code is ExitCode.BUDGET and not options.quiet:
        again = shlex.join(["bench", *read_overrides(run.path / "config.json")])
        print(f"{OUT_OF_BUDGET}\n  {again} budget.…", file=sys.stderr)

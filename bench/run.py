"""What `bench` does, from overrides to the last line on the screen."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from bench.cli_run import announce, load, open_events, print_json, results_to
from bench.commandline import cancel_on_signals
from bench.digest import digest_json
from bench.exits import ExitCode
from bench.project import create_run
from bench.results import exit_code, health, render_report
from bench.skills import required_arms
from bench.sweep import (
    canonical_skills,
    make_arms,
    measure_plan,
    open_ground,
    refuse_solved,
    seal_plan,
    sweep_report,
    with_reuse,
)
from bench.watch import RunFinished, RunStarted

Say = Callable[[str], None]


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
    ):
        announce(loaded, ground, say)
        refuse_solved(ground, cancellation)
        arms = make_arms(ground, selected, canonical)
        sealed = with_reuse(ground, seal_plan(ground, selected, 0, None), arms, cancellation)
        plan = sealed.plan
        for note in sealed.notes:
            say(f"note: {note}")
        with open_events(options, sys.stderr) as watcher:
            run = create_run(root, digest_json(loaded.config))
            loaded.save(run.path)
            watcher.see(
                RunStarted(
                    run=run.id, folder=str(run.path), root=str(root), configuration=digest_json(loaded.config)
                )
            )
            result = measure_plan(ground, sealed, arms, run, run.path, watcher, cancellation)
            code = exit_code(health(result.rows, ground.roles(selected)), result.stopped)
            report = run.path / "report.md"
            report.write_text(render_report(sweep_report(ground, plan, result)), "utf-8")
            watcher.see(RunFinished(run=run.id, code=int(code)))
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
    return code

"""What `-m` does in both commands: plan, ask, run the points, conclude; and how an interrupted sweep goes on."""

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.cancellation import Cancellation
from bench.cli_run import Loaded, confirmed, open_events, print_json
from bench.commandline import cancel_on_signals, config_dirs
from bench.config import CommandName, Config, load_config, load_swept
from bench.digest import canonical_json
from bench.disk import write_whole
from bench.errors import ConfigError, RunError
from bench.exits import ExitCode
from bench.multirun.driving import Driver, Turn, drive
from bench.multirun.expansion import Point
from bench.multirun.folder import (
    PICTURE,
    REPORT,
    RESULT,
    create_sweep,
    find_sweep,
    hold_sweep,
    read_plan,
    write_plan,
)
from bench.multirun.model import MultirunPlan
from bench.multirun.picture import picture
from bench.multirun.planning import Ask, ceiling_words, make_plan, plan_lines
from bench.multirun.report import aligned, dot_table, point_table, report_lines
from bench.multirun.result import Reached, SweepPoint, bench_sweep, dots_of, reached
from bench.sweep import expect_costs, open_ground, seal_plan
from bench.text import printable
from bench.watch import Watcher

Say = Callable[[str], None]


class Concluded(Struct, frozen=True):
    """What a command makes of the points: the document for sweep.json, the points as it tells them, more lines for
    the report and the screen.
    """

    document: Struct
    points: tuple[SweepPoint, ...]
    lines: tuple[str, ...] = ()


class Files(Struct, frozen=True):
    """Where the results of a sweep lie."""

    folder: Path

    @property
    def report(self) -> Path:
        return self.folder / REPORT

    @property
    def picture(self) -> Path:
        return self.folder / PICTURE


class Sweeping(Struct, frozen=True, kw_only=True):
    """A sweep at work: its project, its files and who watches."""

    root: Path
    files: Files
    watcher: Watcher
    say: Say


class Beginning(Struct, frozen=True):
    """What comes before the first point: whether the sweep begins at all, and what is kept in its folder."""

    go: bool
    keep: Callable[[Path], None]


class Ways(Struct, frozen=True, kw_only=True):
    """What the two commands do differently: which arms a point measures, on which overlay; how a sweep begins, how a
    point is run, and what is concluded from all.
    """

    command: CommandName
    arms: Callable[[Config], Sequence[str]]
    overlay: str | None
    begin: Callable[[argparse.Namespace, Loaded, Path, Say], Beginning]
    run: Callable[[Turn, Sweeping], ExitCode]
    conclude: Callable[[MultirunPlan, tuple[Reached, ...], Files, ExitCode], Concluded]


def plan_sweep(options: argparse.Namespace, root: Path, ways: Ways) -> ExitCode:
    """Print the plan of a sweep; nothing is written, proposed or paid."""
    with cancel_on_signals(quiet=options.quiet) as cancellation:
        plan, _ = _planned(options, root, ways, cancellation)
    if options.json:
        print_json(plan)
    else:
        print("\n".join(printable(line) for line in plan_lines(plan)))
    return ExitCode.VERDICT


def start_sweep(options: argparse.Namespace, root: Path, say: Say, ways: Ways) -> ExitCode:
    """Plan, say what it costs at most, and run every point."""
    with cancel_on_signals(quiet=options.quiet) as cancellation:
        plan, first = _planned(options, root, ways, cancellation)
        for shadow in first.composed.shadowed:
            say(f"note: {shadow.line()}")
        beginning = ways.begin(options, first, root, say)
        if not beginning.go:
            return ExitCode.VERDICT
        for line in plan_lines(plan):
            say(line)
        if plan.at_most != 0 and not confirmed(first.config, ceiling_words(plan), cancellation):
            return ExitCode.INTERRUPTED
        folder = create_sweep(root)
        beginning.keep(folder)
        write_plan(folder, plan)
        say(f"sweep {folder.name}")
        return _run(options, plan, (root, folder), say, ways, cancellation)


def resume_sweep(options: argparse.Namespace, say: Say, ways: Ways) -> ExitCode:
    """Go on with a sweep: finished points stay, begun ones go on, failed ones are tried again."""
    root, folder = find_sweep(options.root, options.run, Path.cwd())
    plan = read_plan(folder)
    if plan.command != ways.command:
        raise RunError(
            f"sweep {printable(folder.name)} is one of {plan.command}\n"
            f"  go on with it: {plan.command} resume {printable(folder.name)}"
        )
    say(f"going on with sweep {printable(folder.name)}")
    with cancel_on_signals(quiet=options.quiet) as cancellation:
        return _run(options, plan, (root, folder), say, ways, cancellation)


def _run(
    options: argparse.Namespace,
    plan: MultirunPlan,
    places: tuple[Path, Path],
    say: Say,
    ways: Ways,
    cancellation: Cancellation,
) -> ExitCode:
    root, folder = places
    folders = config_dirs(options.config_dir or plan.config_dirs)
    with hold_sweep(folder) as journal, open_events(options, sys.stderr) as watcher:
        sweeping = Sweeping(root=root, files=Files(folder), watcher=watcher, say=say)
        driver = Driver(
            plan=plan,
            root=root,
            journal=journal,
            compose=lambda point: _loaded(point, root, folders, ways.command),
            run=lambda turn: ways.run(turn, sweeping),
            cancellation=cancellation,
            say=say,
        )
        code = drive(driver)
        found = tuple(reached(plan, journal, root))
        concluded = ways.conclude(plan, found, sweeping.files, code)
        _write(plan, found, concluded, sweeping.files)
    _print(options, concluded, found, plan, sweeping.files)
    return code


def _planned(
    options: argparse.Namespace, root: Path, ways: Ways, cancellation: Cancellation
) -> tuple[MultirunPlan, Loaded]:
    folders = config_dirs(options.config_dir)
    words = [word for word in options.overrides if "=" not in word and not word.startswith("~")]
    if words:
        raise ConfigError(
            f"{words[0]!r} is neither a command nor an override\n"
            f"  a command comes first (see {ways.command} --help); an override is written key=value or ~key"
        )
    swept = load_swept(options.overrides, root=root, config_dirs=folders, command=ways.command)
    loaded: list[Loaded] = []

    def compose(point: Point) -> Loaded:
        composed = _loaded(point, root, folders, ways.command)
        loaded[:] = loaded or [composed]
        return composed

    def cost(config: Config) -> tuple[int, float | None]:
        with open_ground(config, root, folders, cancellation) as ground:
            plan = seal_plan(ground, ways.arms(config), 0, ways.overlay)
            cells = len(plan.cells) * config.generations
            return cells, expect_costs(ground, plan.cells).at_most

    ask = Ask(
        swept=swept,
        overrides=options.overrides,
        config_dirs=[str(each) for each in folders],
        max_failures=options.max_failures,
        now=datetime.now(UTC),
    )
    return make_plan(ask, compose, cost), loaded[0]


def _loaded(point: Point, root: Path, folders: tuple[Path, ...], command: CommandName) -> Loaded:
    config, composed = load_config(point.words, root=root, config_dirs=folders, command=command, point=True)
    return Loaded(config, composed, folders)


def _write(plan: MultirunPlan, found: tuple[Reached, ...], concluded: Concluded, files: Files) -> None:
    """sweep.json last: it names the others."""
    dots = dots_of(found, plan.seed)
    title = f"{plan.command} -m {' '.join(plan.overrides)}"
    lines = [*report_lines(title, concluded.points, dots, PICTURE), "", *concluded.lines]
    write_whole(files.picture, picture(dots, f"quality against cost: {title}").encode())
    write_whole(files.report, ("\n".join(lines) + "\n").encode())
    document = msgspec.json.format(canonical_json(concluded.document)) + b"\n"
    write_whole(files.folder / RESULT, document)


def _print(
    options: argparse.Namespace,
    concluded: Concluded,
    found: tuple[Reached, ...],
    plan: MultirunPlan,
    files: Files,
) -> None:
    if options.json:
        print_json(concluded.document)
        return
    out = sys.stderr if options.events == "-" else sys.stdout
    lines = [
        *aligned(point_table(concluded.points)),
        "",
        *aligned(dot_table(dots_of(found, plan.seed))),
        "",
        *concluded.lines,
        f"report: {files.report}",
        f"picture: {files.picture}",
    ]
    print("\n".join(printable(line) for line in lines), file=out)


def bench_conclusion(
    plan: MultirunPlan, found: tuple[Reached, ...], files: Files, code: ExitCode
) -> Concluded:
    """What `bench` concludes: the numbers."""
    document = bench_sweep(plan, found, files.folder, (files.report, files.picture), int(code))
    return Concluded(document, document.points)

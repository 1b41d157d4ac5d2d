"""What `evolve runs` does, from its words to the last line on the screen."""

import argparse
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.cli_run import print_json
from bench.errors import RunError
from bench.exits import ExitCode
from bench.project import find_project, find_run
from bench.text import printable
from evolve.runs.following import follow
from evolve.runs.pruning import Limits, older_than, prune
from evolve.runs.reading import read_run, read_runs
from evolve.runs.words import list_lines, prune_lines, show_lines

Say = Callable[[str], None]


def runs_command(options: argparse.Namespace, say: Say) -> ExitCode:
    """List, show or prune, and print what came of it."""
    _check(options)
    word = options.words[0] if options.words else ""
    root = find_project(word, options.root, Path.cwd())
    result, lines = _done(options, root, word, say)
    if options.json:
        print_json(result)
    else:
        print("\n".join(printable(line.replace("\n", " ")) for line in lines))
    return ExitCode.VERDICT


def _done(options: argparse.Namespace, root: Path, word: str, say: Say) -> tuple[Any, list[str]]:
    """The result for programs and for people."""
    if options.action == "list":
        runs = read_runs(root)
        return runs, list_lines(runs)
    if options.action == "show":
        run = find_run(root, word)
        if options.follow:
            follow(run, say if options.json else _print_line)
        state = read_run(run)
        return state, show_lines(state)
    report = prune(root, _limits(options), dry_run=options.dry_run)
    return report, prune_lines(report)


def _print_line(line: str) -> None:
    print(line, flush=True)


def _limits(options: argparse.Namespace) -> Limits:
    now = datetime.now(UTC)
    before = None if options.older_than is None else older_than(now, options.older_than)
    return Limits(keep=options.keep, before=before, force=options.force)


def _check(options: argparse.Namespace) -> None:
    """RunError if the words do not fit the action."""
    action, words = options.action, options.words
    if options.cfg or options.info or options.config_dir:
        raise RunError("evolve runs takes no --cfg, --info or --config-dir")
    if action == "show" and len(words) != 1:
        raise RunError("evolve runs show takes one word: the run's id, the beginning of its id, or its folder")
    if action != "show" and (words or options.follow):
        what = printable(words[0]) if words else "--follow"
        raise RunError(f"evolve runs {action} takes no {what}; evolve runs show RUN does")
    pruning = [options.keep is not None, options.older_than is not None]
    if action == "prune" and sum(pruning) != 1:
        raise RunError("evolve runs prune takes --keep N (the newest N stay) or --older-than DAYS")
    if action != "prune" and (any(pruning) or options.dry_run or options.force):
        raise RunError(f"evolve runs {action} removes nothing; evolve runs prune takes these flags")
    if options.keep is not None and options.keep < 0:
        raise RunError(f"--keep {options.keep}: fewer than no runs cannot be kept")

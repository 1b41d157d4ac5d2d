"""What `evolve apply` does, from its words to the last line on the screen."""

import argparse
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bench.cli_run import print_json
from bench.exits import ExitCode
from bench.project import find_project, find_run, use_store
from bench.text import printable
from evolve.apply.applying import apply_run
from evolve.apply.exchange import exchange_entries
from evolve.apply.interrupts import Interrupts
from evolve.apply.model import ApplySummary, Tools
from evolve.apply.reverting import revert_run
from evolve.apply.summary import summary_lines
from evolve.errors import ApplyError


def apply_command(options: argparse.Namespace, say: Callable[[str], None]) -> ExitCode:
    """Apply or revert what the options name, and print what came of it."""
    if options.cfg or options.info or options.config_dir:
        raise ApplyError(
            "evolve apply takes no --cfg, --info or --config-dir: a run keeps its own configuration"
        )
    root = find_project(options.run, options.root, Path.cwd())
    run = find_run(root, options.run)
    work = revert_run if options.revert else apply_run
    with use_store(run.path.parent), Interrupts() as observe:
        tools = Tools(
            exchange=exchange_entries, observe=observe, token=secrets.token_hex(4), now=datetime.now(UTC)
        )
        try:
            summary = work(root, run, tools, dry_run=options.dry_run)
        except KeyboardInterrupt:
            say("stopped: nothing was changed")
            raise
        _show(summary, options, say)
    return ExitCode.VERDICT


def _show(summary: ApplySummary, options: argparse.Namespace, say: Callable[[str], None]) -> None:
    """The result on stdout; around the diff of a dry run, words go to stderr, so that the diff can be piped."""
    if options.json:
        print_json(summary)
        return
    lines = summary_lines(summary)
    if summary.diff is None:
        print("\n".join(map(printable, lines)))
        return
    say("\n".join(lines))
    print("\n".join(map(printable, summary.diff.split("\n"))), end="")

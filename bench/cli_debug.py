"""What `bench debug` does: one cell of a finished run once more, with its sandbox kept open for a person."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import structs

from bench.arms import Cell, Journal, Turn, measure
from bench.cancellation import Cancellation
from bench.cli_run import print_json
from bench.commandline import cancel_on_signals, config_dirs
from bench.errors import RunError, UserError
from bench.exits import ExitCode
from bench.results import ObjectStore, Row
from bench.sandbox import Command, ProcessResult, Sandbox, open_shell
from bench.spend import OpenPurse
from bench.sweep import (
    Ground,
    Measured,
    arms_again,
    differences,
    find_cell,
    open_ground,
    open_measured,
    open_workbench,
)
from bench.text import printable

Say = Callable[[str], None]

_OPENED = """\
the sessions are over: here is a shell in the cell's sandbox; `exit` leaves it
  nothing that you change is kept, and the hidden test is not there"""


class Visit:
    """A person's look into a cell: the command that they gave, or a shell at their terminal."""

    def __init__(self, command: str | None, say: Say) -> None:
        self._command, self._say = command, say
        self._terminal = _terminal() if command is None else ""
        self.result: ProcessResult | None = None

    def look(self, command: Command, sandbox: Sandbox, cancellation: Cancellation) -> None:
        """Run it with everything of `command`, until it ends or the person leaves it."""
        if self._command is not None:
            mine = structs.replace(command, argv=("/bin/sh", "-c", self._command))
            self.result = sandbox.run(mine, cancellation)
            return
        self._say(_OPENED)
        terminal = os.open(self._terminal, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            open_shell(sandbox, command, terminal, cancellation)
        finally:
            os.close(terminal)


def debug(options: argparse.Namespace, root: Path, say: Say) -> ExitCode:
    """Run the cell again, let the person look once its sessions are over, finish it, and print its row."""
    visit = Visit(options.command, say)
    measured = open_measured(root, options.run)
    cell = find_cell(measured, options.cell)
    with (
        cancel_on_signals(quiet=options.quiet) as cancellation,
        open_ground(measured.config, root, config_dirs(options.config_dir), cancellation) as ground,
    ):
        say(f"measuring {cell.name} of {measured.run.id} again")
        row = _measured_again(ground, measured, cell, visit, cancellation)
    differing = differences(measured, row)
    if differing:
        say(f"note: not as in the run: {', '.join(differing)}")
    _print(row, visit, cell, json=options.json)
    if cancellation.cancelled:
        return ExitCode.INTERRUPTED
    failed = row.outcome.status == "failed" or (visit.result is not None and not visit.result.succeeded)
    return ExitCode.UNUSABLE if failed else ExitCode.VERDICT


def _measured_again(
    ground: Ground, measured: Measured, cell: Cell, visit: Visit, cancellation: Cancellation
) -> Row:
    """The cell's new row; what it refers to is gone with the scratch folder."""
    if cell.task not in {task.id for task in ground.tasks}:
        raise RunError(f"the suite {ground.suite.name} has no task {cell.task} any more")
    arms = arms_again(ground, measured, cell.arm)
    store, purse = ObjectStore(ground.scratch / "objects"), OpenPurse(ground.config.timeout)
    journal = Journal(ground.scratch / "journal.jsonl", measured.plan.suite)
    bench = open_workbench(ground, measured.plan, arms, store, journal, purse)

    def look(command: Command) -> None:
        visit.look(command, ground.sandbox, cancellation)

    with ground.model(None) as model:
        mine = structs.replace(bench, model=model)
        return measure(mine, Turn(cell=cell, attempt=0), cancellation, look)


def _print(row: Row, visit: Visit, cell: Cell, *, json: bool) -> None:
    """What the command printed, and the row; with `json`, stdout holds the row alone."""
    if visit.result is not None:
        print(printable(visit.result.stdout.text()), end="", file=sys.stderr if json else sys.stdout)
        print(printable(visit.result.stderr.text()), end="", file=sys.stderr)
        if not visit.result.succeeded:
            code, end = visit.result.code, visit.result.end
            print(f"the command ended with {end if code is None else code}", file=sys.stderr)
    if json:
        print_json(row)
        return
    outcome = row.outcome
    said = outcome.kind or ("resolved" if outcome.resolved else "")
    print(f"{printable(cell.name)}: {outcome.status} {said}".rstrip())
    if outcome.detail:
        print(printable(outcome.detail))


def _terminal() -> str:
    """The terminal that the person types at; UserError where there is none."""
    if sys.stdin is None or sys.stdin.closed or not sys.stdin.isatty():
        raise UserError(
            "bench debug opens a shell, but there is no terminal to type at\n"
            "  give it --command 'CMD', which is run there instead"
        )
    return os.ttyname(sys.stdin.fileno())

"""Plain lines, for logs and pipes: one line per finished cell, none that is ever rewritten."""

import threading
from typing import TextIO

from bench.watch.events import (
    CellFinished,
    Event,
    GenerationStarted,
    Noted,
    RunStarted,
    SweepFinished,
    SweepStarted,
)


class PlainLines:
    """Writes what a person who reads a log later wants to know; with `quiet` only what went wrong."""

    def __init__(self, out: TextIO, *, quiet: bool = False) -> None:
        self._out, self._quiet = out, quiet
        self._lock = threading.Lock()

    def see(self, event: Event) -> None:
        """Write the event's line, if it has one."""
        line = describe(event)
        if line is None or (self._quiet and not _matters(event)):
            return
        with self._lock:
            print(line, file=self._out, flush=True)

    def close(self) -> None:
        """Nothing is buffered."""


def describe(event: Event) -> str | None:
    """The one line that says what happened, or None for what only programs follow."""
    match event:
        case RunStarted():
            return f"run {event.run} in {event.folder}"
        case Noted():
            return f"note: {event.message}"
        case GenerationStarted():
            return f"generation {event.generation}: {event.idea} (overlay {event.overlay[:12]})"
        case SweepStarted():
            arms = ", ".join(event.arms)
            return f"measuring {event.cells} cells: {event.tasks} tasks x {len(event.arms)} arms ({arms})"
        case CellFinished():
            return f"[{event.done}/{event.cells}] {cell_line(event)}"
        case SweepFinished(stopped=str(cause)):
            return f"stopped by {cause}: {event.rows} of {event.cells} cells have rows"
        case _:
            return None


def cell_line(event: CellFinished) -> str:
    """A finished cell in one line: what it measured, or why it could not."""
    score = "" if event.weighted_f1 is None else f" weighted F1 {event.weighted_f1:.3f}"
    kind = event.kind or "resolved"
    reason = "" if event.status == "measured" else f": {event.detail.splitlines()[0] if event.detail else ''}"
    return f"{event.cell} {event.status} {kind}{score} {event.seconds:.1f} s{reason}"


def _matters(event: Event) -> bool:
    """Whether a quiet run still says it."""
    return isinstance(event, SweepFinished) or (
        isinstance(event, CellFinished) and event.status != "measured"
    )

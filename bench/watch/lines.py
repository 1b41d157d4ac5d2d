"""Plain lines, for logs and pipes: one line per finished cell, none that is ever rewritten."""

import threading
from typing import TextIO

from bench.text import printable
from bench.watch.events import (
    CellFinished,
    DriftFound,
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
    """What happened in one line, as a terminal may show it, or None for what only programs follow."""
    told = _told(event)
    return None if told is None else _line(told)


def cell_line(event: CellFinished) -> str:
    """A finished cell in one line: what it measured, or why it could not."""
    score = "" if event.weighted_f1 is None else f", weighted F1 {event.weighted_f1:.3f}"
    outcome = event.kind or "resolved"
    if event.status == "measured" and event.kind:
        outcome = f"unresolved ({event.kind})"
    first = event.detail.strip().split("\n")[0]
    reason = "" if event.status == "measured" else f": {first}"
    source = "" if event.source == "fresh" else f"{event.source}, "
    seconds = "" if event.source == "reused" else f", {event.seconds:.1f} s"
    return _line(f"{event.cell}: {source}{event.status}, {outcome}{score}{seconds}{reason}")


def _line(text: str) -> str:
    """No name or message can drive a terminal or forge a second line."""
    return printable(text).replace("\n", "\\n")


def _told(event: Event) -> str | None:  # noqa: PLR0911 - one for each event
    match event:
        case RunStarted():
            return f"run {event.run} in {event.folder}"
        case Noted():
            return f"note: {event.message}"
        case GenerationStarted():
            return f"generation {event.generation}: {event.idea} (overlay {event.overlay[:12]})"
        case SweepStarted():
            arms = ", ".join(event.arms)
            reused = f", {event.reused} of them from earlier rows" if event.reused else ""
            return f"measuring {event.cells} cells{reused}: {event.tasks} tasks x {len(event.arms)} arms ({arms})"
        case CellFinished():
            return f"[{event.done}/{event.cells}] {cell_line(event)}"
        case DriftFound():
            return f"drift: {event.found}; rows from before are not reused any more"
        case SweepFinished(stopped=str(cause)):
            left = event.cells - event.rows
            because = f": {event.because}" if event.because else ""
            begun = f"; {left} cells not begun{because}" if left else because
            return f"stopped by {cause}: {event.rows} of {event.cells} cells have rows{begun}"
        case _:
            return None


def _matters(event: Event) -> bool:
    """Whether a quiet run still says it."""
    return isinstance(event, SweepFinished | DriftFound) or (
        isinstance(event, CellFinished) and event.status != "measured"
    )

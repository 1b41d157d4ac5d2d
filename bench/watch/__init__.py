"""Watching a run: events as data, and their readers: a live table, plain lines, JSON lines."""

from bench.watch.events import (
    CellFinished,
    CellStarted,
    DriftFound,
    Event,
    GenerationStarted,
    Noted,
    RunFinished,
    RunStarted,
    SweepFinished,
    SweepStarted,
    VerdictReached,
    Watcher,
)
from bench.watch.lines import PlainLines, cell_line
from bench.watch.open import Watchers, open_watcher
from bench.watch.stream import JsonStream

__all__ = [
    "CellFinished",
    "CellStarted",
    "DriftFound",
    "Event",
    "GenerationStarted",
    "JsonStream",
    "Noted",
    "PlainLines",
    "RunFinished",
    "RunStarted",
    "SweepFinished",
    "SweepStarted",
    "VerdictReached",
    "Watcher",
    "Watchers",
    "cell_line",
    "open_watcher",
]

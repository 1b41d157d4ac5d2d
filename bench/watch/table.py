"""The live table: one line per arm while the cells run."""

import threading

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from bench.text import printable
from bench.watch.events import CellFinished, CellStarted, Event, SweepFinished, SweepStarted
from bench.watch.lines import cell_line, describe


class LiveTable:
    """Shows per arm how many cells were measured, resolved and lost, and which cells run now."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._live: Live | None = None
        self._progress = _progress()
        self._arms: dict[str, list[CellFinished]] = {}
        self._running: list[str] = []

    def see(self, event: Event) -> None:
        """Take one event: start, change or end the table, or print a line above it."""
        with self._lock:
            match event:
                case SweepStarted():
                    self._console.print(Text(describe(event) or ""))
                    self._start(event)
                case CellStarted():
                    self._running.append(printable(event.cell))
                case CellFinished():
                    self._finish(event)
                case SweepFinished():
                    self._stop()
                    self._say(event)
                case _:
                    self._say(event)

    def close(self) -> None:
        """Leave the terminal as it was."""
        with self._lock:
            self._stop()

    def __rich__(self) -> Group:
        """The table as it stands; rich asks for it at every refresh."""
        table = Table(box=None, pad_edge=False)
        for heading in ("arm", "measured", "reused", "resolved", "lost", "mean weighted F1"):
            table.add_column(heading, justify="left" if heading == "arm" else "right")
        for arm, cells in list(self._arms.items()):
            table.add_row(Text(printable(arm)), *_numbers(cells))
        now = ", ".join(self._running[:4])
        return Group(
            table,
            self._progress,
            Text(f"running: {now or '-'}", style="dim", overflow="ellipsis", no_wrap=True),
        )

    def _start(self, event: SweepStarted) -> None:
        self._arms = {arm: [] for arm in event.arms}
        self._running = []
        self._progress = _progress()
        self._progress.add_task("cells", total=event.cells)
        self._live = Live(self, console=self._console, refresh_per_second=8)
        self._live.start()

    def _finish(self, event: CellFinished) -> None:
        self._running = [cell for cell in self._running if cell != printable(event.cell)]
        self._arms.setdefault(event.arm, []).append(event)
        for task in self._progress.task_ids:
            self._progress.advance(task)
        if event.status != "measured":
            self._console.print(Text(cell_line(event), style="yellow"))

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _say(self, event: Event) -> None:
        line = describe(event)
        if line is not None:
            self._console.print(Text(line))


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )


def _numbers(cells: list[CellFinished]) -> tuple[str, ...]:
    measured = [cell for cell in cells if cell.status == "measured"]
    scores = [cell.weighted_f1 for cell in measured if cell.weighted_f1 is not None]
    mean = f"{sum(scores) / len(scores):.3f}" if scores else "n/a"
    resolved = sum(cell.resolved for cell in measured)
    reused = sum(cell.source == "reused" for cell in measured)
    fresh, lost = len(measured) - reused, len(cells) - len(measured)
    return (str(fresh), str(reused), str(resolved), str(lost), mean)

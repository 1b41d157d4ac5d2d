"""A program: `evolve` or `bench` with the words that follow, which gets a signal at a point of a phase.

`killed_command.py PHASE MOMENT NUMBER SIGNAL PROGRAM WORDS…` sends it at the NUMBER-th time that the phase comes to
that moment, whichever thread it is in. With the phase `count`, MOMENT is a file that gets how often each was reached;
with `clock`, the clock is MOMENT seconds off.
"""

import functools
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import bench.arms.cell
import bench.arms.sequence
import bench.cli
import bench.disk
import bench.line_file
import bench.results.store
import bench.sandbox.process
import bench.sweep.workshop
import bench.workspace.templates
import evolve.apply.applying
import evolve.apply.run
import evolve.cli
import evolve.gate.verdict
import evolve.resume

PROGRAMS = {"bench": bench.cli.main, "evolve": evolve.cli.main}
LINES = {"append": "results.jsonl", "journal": "journal.jsonl", "spend": "spend.jsonl", "look": "looks.jsonl"}
WHOLE = {"plan": "plan.json", "verdict": "promotion.json", "report": "report.md"}


class Killer:
    """Sends this process a signal at one of the points that it is told of."""

    def __init__(self, phase: str, moment: str, number: int, fatal: signal.Signals) -> None:
        self._fatal, self._number, self._signal = (phase, moment), number, fatal
        self._lock = threading.Lock()
        self._local = threading.local()
        self.seen: Counter[str] = Counter()

    @property
    def _phase(self) -> str | None:
        return getattr(self._local, "phase", None)

    def reach(self, phase: str, moment: str, first: Callable[[], None] = lambda: None) -> None:
        """A point; `first` is what is done just before the end that comes there."""
        with self._lock:
            self.seen[f"{phase} {moment}"] += 1
            if (phase, moment) == self._fatal and self.seen[f"{phase} {moment}"] == self._number:
                first()
                os.kill(os.getpid(), self._signal)

    def within(self, moment: str) -> None:
        """A point of whichever phase this thread is in."""
        if self._phase is not None:
            self.reach(self._phase, moment)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """The block is a phase: its beginning, whatever is reached in it, and its end are points."""
        self.reach(name, "before")
        outer, self._local.phase = self._phase, name
        try:
            yield
        finally:
            self._local.phase = outer
        self.reach(name, "after")

    def wrap(self, owner: Any, function: str, name: Callable[..., str | None]) -> None:
        """Make the calls of a function a phase, if `name` gives one for their arguments."""
        plain = getattr(owner, function)

        @functools.wraps(plain)
        def wrapped(*words: Any, **named: Any) -> Any:
            phase = name(*words)
            if phase is None:
                return plain(*words, **named)
            with self.phase(phase):
                return plain(*words, **named)

        setattr(owner, function, wrapped)


def install(killer: Killer) -> None:
    """Every seam."""
    killer.wrap(bench.workspace.templates.Templates, "_built", lambda *_: "template")
    killer.wrap(bench.sweep.workshop.Workshop, "run", lambda *_: "setup")
    killer.wrap(bench.arms.sequence, "run_session", lambda *_: "session")
    killer.wrap(bench.arms.cell, "capture", lambda *_: "capture")
    killer.wrap(bench.arms.cell, "check_visibly", lambda *_: "verify")
    killer.wrap(bench.arms.cell, "check_hidden", lambda *_: "oracle")
    killer.wrap(bench.results.store.ObjectStore, "_write", lambda *_: "store")
    for module in (bench.disk, evolve.gate.verdict):
        killer.wrap(module, "write_durably", lambda path, *_: named(path, WHOLE))
    tear_lines(killer)
    killer.wrap(bench.line_file.LineFile, "append", lambda file, *_: named(file.path, LINES))
    watch_processes(killer)
    watch_files(killer)
    watch_apply(killer)


def named(path: Path, names: dict[str, str]) -> str | None:
    return next((phase for phase, name in names.items() if path.name == name), None)


def tear_lines(killer: Killer) -> None:
    """A line of which only the first half reaches the disk."""
    plain = bench.line_file.LineFile.append

    def append(file: bench.line_file.LineFile, line: bytes, **named_words: Any) -> None:
        def half() -> None:
            descriptor = os.open(file.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(descriptor, line[: len(line) // 2])

        if (phase := named(file.path, LINES)) is not None:
            killer.reach(phase, "torn", half)
        plain(file, line, **named_words)

    bench.line_file.LineFile.append = append


def watch_processes(killer: Killer) -> None:
    """Commands of cells and git's, once they run; and the first that one says to whoever listens."""
    start, run = subprocess.Popen.__init__, bench.sandbox.process.run_process

    @functools.wraps(start)
    def started(*words: Any, **named_words: Any) -> None:
        start(*words, **named_words)
        killer.within("running")

    def followed(launch: Any, own: Any, cancellation: Any, observe: Any = None) -> Any:
        def heard(chunk: bytes) -> None:
            killer.within("speaking")
            observe(chunk)

        return run(launch, own, cancellation, None if observe is None else heard)

    subprocess.Popen.__init__ = started
    for module in list(sys.modules.values()):
        if getattr(module, "run_process", None) is run:
            module.run_process = followed


def watch_files(killer: Killer) -> None:
    """A file that is written, but has not got its name yet."""
    plain = pathlib.Path.replace

    def replace(path: Path, target: Path) -> Path:
        killer.within("unnamed")
        return plain(path, target)

    pathlib.Path.replace = replace


def watch_apply(killer: Killer) -> None:
    """The steps of the transaction."""
    plain = evolve.apply.run.Tools

    def tools(**parts: Any) -> Any:
        observe = parts.pop("observe")

        def seen(step: Any) -> None:
            observe(step)
            killer.reach("apply", step.name)

        return plain(**parts, observe=seen)

    evolve.apply.run.Tools = tools
    killer.wrap(evolve.apply.applying, "publish", lambda *_: "apply")


def set_clock(seconds: float) -> None:
    """Every module of this project takes it for so much later."""

    class Off(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) + timedelta(seconds=seconds)

    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in PROGRAMS and getattr(module, "datetime", None) is datetime:
            module.datetime = Off


def main(phase: str, moment: str, number: str, fatal: str, program: str, *words: str) -> int:
    killer = Killer(phase, moment, int(number), signal.Signals[fatal])
    install(killer)
    if phase == "clock":
        set_clock(float(moment))
    code = PROGRAMS[program](words)
    if phase == "count":
        Path(moment).write_text(json.dumps(killer.seen))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""One case: a generation that is killed, taken up again until it ends, and compared with an undisturbed one."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from bench.exits import ExitCode
from tests.chaos.chaos_project import ChaosProject
from tests.chaos.remains import Key, Remains, left_behind, verdict

PROGRAM = Path(__file__).with_name("killed_command.py")
TOP = Path(__file__).parents[2]


class Point(Struct, frozen=True):
    """Where a command is killed: at the `number`-th time that it comes to this moment of the phase."""

    phase: str
    moment: str
    number: int = 1
    signal: str = "SIGKILL"

    @property
    def words(self) -> tuple[str, ...]:
        return (self.phase, self.moment, str(self.number), self.signal)

    def __str__(self) -> str:
        return f"{self.phase} {self.moment} {self.number}"


class Undisturbed(Struct, frozen=True):
    """What a run comes to that nobody disturbs; `reached` says how often it came to each moment."""

    verdict: bytes
    measured: Counter[Key]
    sessions: Counter[Key]
    reached: dict[str, int]


class Case:
    """A project in a folder of its own, and the commands that are run in it."""

    def __init__(self, folder: Path, sandbox: str, kinds: Sequence[str] = ("review", "work")) -> None:
        folder.mkdir()
        self.project = ChaosProject(folder, sandbox, kinds=kinds)
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.kills: list[Point] = []

    def evolve(self, point: Point, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run `evolve` up to its end, or to the point."""
        return self.run("evolve", point, *words)

    def run(self, program: str, point: Point, *words: str) -> "subprocess.CompletedProcess[str]":
        """The same for `evolve` or `bench`."""
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        environment |= {"TMPDIR": str(self.temporary), "PYTHONPATH": str(TOP)}
        return subprocess.run(
            [sys.executable, str(PROGRAM), *point.words, program, *words, "--root", str(self.project.root)],
            cwd=self.project.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def begin_or_go_on(self, point: Point) -> "subprocess.CompletedProcess[str]":
        """Begin the run, or go on with what there is of it."""
        run = self.project.begun()
        return (
            self.evolve(point, *self.project.words) if run is None else self.evolve(point, "resume", run.name)
        )

    def undisturbed(self) -> Undisturbed:
        """Run it to its end."""
        count = self.project.folder / "count"
        done = self.evolve(Point("count", str(count)), *self.project.words)
        assert done.returncode == 0, done.stderr
        remains = Remains.of(self.project.run)
        reached = json.loads(count.read_bytes())
        return Undisturbed(verdict(self.project.run), remains.measured, remains.sessions, reached)


NEVER = Point("never", "never")


def faults(case: Case, points: Sequence[Point], expected: Undisturbed) -> Iterator[str]:
    """What is wrong with a run that was killed at these points, one after the other, and then came to its end.
    A point of what is left of a run may lie in what its beginning did already.
    """
    project, unfinished, before = case.project, Counter[Key](), Remains.of(None)
    for number, point in enumerate(points):
        done = case.begin_or_go_on(point)
        if done.returncode != -signal.SIGKILL and not (number and done.returncode == 0):
            yield f"not killed at {point}: {done.returncode} {done.stderr[-2000:]}"
            return
        case.kills += [point] if done.returncode else []
        now = Remains.of(project.begun())
        yield from _lost(before, now)
        unfinished, before = now.unfinished(), now
    done = case.begin_or_go_on(NEVER)
    if done.returncode != 0:
        yield f"it did not go on: {done.returncode} {done.stderr[-3000:]}"
        return
    now = Remains.of(project.run)
    yield from _lost(before, now)
    yield from _differences(now, expected, unfinished)
    yield from _starts(project, expected, unfinished)
    if verdict(project.run) != expected.verdict:
        yield f"another verdict: {verdict(project.run)!r}"
    if not (project.run / "gen-1" / "report.md").exists():
        yield "no report"
    yield from left_behind(project.folder, project.scratch, case.temporary)


def stop_faults(case: Case, point: Point, expected: Undisturbed) -> Iterator[str]:
    """What is wrong with a run that is stopped by a signal at this point, and then goes on to its end."""
    done = case.evolve(point, *case.project.words)
    case.kills.append(point)
    if done.returncode not in (ExitCode.INTERRUPTED, ExitCode.VERDICT) or "Traceback" in done.stderr:
        yield f"stopped at {point} by {point.signal}: {done.returncode} {done.stderr[-2000:]}"
        return
    yield from going_on_faults(case, expected)


def going_on_faults(case: Case, expected: Undisturbed) -> Iterator[str]:
    """What is wrong where a run that came to a stop goes on: a session that ended is paid again, a row is lost or
    there twice, another decision, something left behind.
    """
    project, before = case.project, Remains.of(case.project.begun())
    done = case.begin_or_go_on(NEVER)
    if done.returncode != 0:
        yield f"it did not go on: {done.returncode} {done.stderr[-3000:]}"
        return
    now = Remains.of(project.run)
    yield from _lost(before, now)
    if now.measured != expected.measured:
        yield f"measured: {now.measured}, not {expected.measured}"
    # a session that was cut off ended too, in an attempt before the one that counts
    if {key[4:] for key in now.sessions} != {key[4:] for key in expected.sessions}:
        yield f"other sessions: {now.sessions}"
    if now.sessions.total() != expected.sessions.total():
        yield f"{now.sessions.total()} sessions ended, not {expected.sessions.total()}: {now.sessions}"
    if verdict(project.run) != expected.verdict:
        yield f"another verdict: {verdict(project.run)!r}"
    left = left_behind(project.folder, project.scratch, case.temporary)
    yield from (each for each in left if f"{project.root}/runs tmpfs" not in each)


def _lost(before: Remains, now: Remains) -> Iterator[str]:
    """Rows that were there, in the file of rows or waiting for their place, and are there no more."""
    there = {*now.rows, *now.waiting}
    yield from (f"lost: {row!r}" for row in {*before.rows, *before.waiting} - there)
    yield from (f"forgotten: {key}" for key in before.sessions - now.sessions)


def _differences(now: Remains, expected: Undisturbed, unfinished: Counter[Key]) -> Iterator[str]:
    if now.measured != expected.measured or len(now.rows) != len(expected.measured):
        yield f"measured: {now.measured}, not {expected.measured}"
    if set(now.waiting) - set(now.rows):
        yield "a row that waited for its place never got it"
    if now.sessions != expected.sessions:
        yield f"sessions that ended: {now.sessions - expected.sessions} too often, {expected.sessions - now.sessions} missing"
    paid = now.unfinished()
    if paid != unfinished:
        yield f"paid without an end: {paid}, where the kills account for {unfinished}"


def _starts(project: ChaosProject, expected: Undisturbed, unfinished: Counter[Key]) -> Iterator[str]:
    """The agent itself says how often it was started."""
    if project.log is None:
        return
    starts, sessions = len(project.starts()), expected.sessions.total()
    if not sessions <= starts <= sessions + unfinished.total():
        yield f"{starts} starts of {sessions} sessions, of which {unfinished.total()} were killed"

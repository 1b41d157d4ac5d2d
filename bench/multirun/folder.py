"""The folder of a multirun below runs/sweeps/: claimed, locked, read back. Its points are ordinary runs of the project."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.config import find_root
from bench.digest import canonical_json
from bench.disk import write_whole
from bench.errors import RunError
from bench.line_file import LineFile, complete_lines, cut_torn_line, ends_torn
from bench.multirun.model import (
    MULTIRUN_VERSION,
    MultirunPlan,
    PointBegun,
    PointEnded,
    PointEvent,
    PointSkipped,
)
from bench.project import RUNS, RunFolder, claim_run, use_store
from bench.text import did_you_mean, printable

SWEEPS = "sweeps"
PREFIX = "sweep-"
PLAN, JOURNAL, RESULT = "plan.json", "journal.jsonl", "sweep.json"
REPORT, PICTURE = "report.md", "front.svg"


class PointState(Struct, frozen=True, kw_only=True):
    """How far a point came: its latest run, and how that ended; `finished` if nothing is left of it to do."""

    run: str | None = None
    code: int | None = None
    error: str | None = None
    same_as: int | None = None

    @property
    def finished(self) -> bool:
        return self.same_as is not None or self.code == 0


class PointJournal:
    """What became of the points: a line is on the disk before anything depends on it."""

    def __init__(self, path: Path) -> None:
        if path.exists() and ends_torn(path):
            cut_torn_line(path)
        self._file = LineFile(path)
        self.states: dict[int, PointState] = {}
        self.configurations: dict[str, int] = {}
        self._begun: list[str] = []
        for number, line in complete_lines(path) if path.exists() else ():
            self._take(_event(path, number, line))

    def spenders(self, runs: Path) -> tuple[str, ...]:
        """Every run that a point ever began and that may have spent: also one that another took the place of. A run
        that was refused before it measured is not there any more; one that ended well must be.
        """
        ended = {state.run for state in self.states.values() if state.code == 0}
        return tuple(run for run in self._begun if run in ended or (runs / run).is_dir())

    def add(self, event: PointEvent) -> None:
        """Write it down, then know it."""
        self._file.append(canonical_json(event))
        self._take(event)

    def _take(self, event: PointEvent) -> None:
        if isinstance(event, PointBegun):
            self.states[event.point] = PointState(run=event.run)
            self._begun.append(event.run)
            self.configurations.setdefault(event.configuration, event.point)
        elif isinstance(event, PointSkipped):
            self.states[event.point] = PointState(same_as=event.same_as)
        elif isinstance(event, PointEnded):
            self.states[event.point] = PointState(run=event.run, code=event.code, error=event.error)


def create_sweep(root: Path) -> Path:
    """A fresh folder, made by an exclusive mkdir."""
    sweeps = root / RUNS / SWEEPS
    try:
        sweeps.mkdir(parents=True, exist_ok=True)
        path = sweeps / f"{PREFIX}{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}-{secrets.token_hex(3)}"
        path.mkdir()
    except OSError as error:
        raise RunError(f"no folder can be made below {sweeps}: {error.strerror}") from error
    return path


def is_sweep(name: str) -> bool:
    """Whether what a person typed names a multirun and not a run."""
    return Path(name).name.startswith(PREFIX)


def find_sweep(explicit: str | None, name: str, here: Path) -> tuple[Path, Path]:
    """The project and the folder of a multirun, by its id, the beginning of its id, or its path. RunError lists what
    there is.
    """
    named = None if explicit is None else Path(explicit)
    above = find_root((here / name).parent.resolve()) if "/" in name else None
    root = find_root(here, named) if named else above or find_root(here) or find_root(here / RUNS / "starter")
    if root is None:
        raise RunError("there is no project here (no evolve.toml above)\n  go into one, or name it: --root")
    there = sorted(path for path in (root / RUNS / SWEEPS).glob(f"{PREFIX}*") if path.is_dir())
    wanted = Path(name).name
    found = [path for path in there if path.name == wanted] or [
        path for path in there if path.name.startswith(wanted)
    ]
    if len(found) == 1:
        return root, found[0]
    listed = "".join(f"\n  {path.name}" for path in (found or there)[-10:]) or " none"
    near = did_you_mean(wanted, [path.name for path in there])
    raise RunError(
        f"{len(found)} sweeps begin with {printable(wanted)!r}:{listed}"
        if found
        else f"there is no sweep {printable(wanted)!r} in {root / RUNS / SWEEPS}{near}; the newest there:{listed}"
    )


@contextmanager
def hold_sweep(folder: Path) -> Iterator[PointJournal]:
    """Be the only process that works on the multirun; its project's store stays as it is meanwhile."""
    with use_store(folder.parent.parent), claim_run(RunFolder(folder)):
        yield PointJournal(folder / JOURNAL)


def write_plan(folder: Path, plan: MultirunPlan) -> None:
    """Seal the plan."""
    write_whole(folder / PLAN, msgspec.json.format(canonical_json(plan)) + b"\n")


def read_plan(folder: Path) -> MultirunPlan:
    """The sealed plan. RunError if there is none that can be read."""
    path = folder / PLAN
    try:
        plan = msgspec.json.decode(path.read_bytes(), type=MultirunPlan)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(
            f"{path} cannot be read: {error}\n  restore it from a copy, or start again with the same words"
        ) from error
    if plan.schema_version != MULTIRUN_VERSION:
        raise RunError(
            f"{path}: schema_version {plan.schema_version} is not supported, only {MULTIRUN_VERSION} is"
        )
    return plan


def _event(path: Path, number: int, line: bytes) -> PointEvent:
    try:
        return msgspec.json.decode(line, type=PointEvent)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(
            f"{path}, line {number} cannot be read: {error}\n  it is only ever appended to: restore it from a copy"
        ) from error

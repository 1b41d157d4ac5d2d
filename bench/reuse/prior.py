"""Finds the generation whose rows may stand for cells, and reads it without trusting it."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.config import Config, read_saved_config
from bench.errors import RunError, UserError
from bench.harness import Harness
from bench.plan_file import PLAN, read_plan_as
from bench.project import RunFolder, find_run, list_runs, recall, remember, split_generation
from bench.results import Row, read_every_row
from bench.reuse.drift import DRIFT_VERSION, DriftFile, DriftState

PREVIOUS = "previous"
NONE = "none"
DRIFT = "drift.json"
PRUNED_DRIFT = "pruned-drift"
_FILES = (PLAN, "results.jsonl")
_MOST_READ = 12  # generations that are looked at


class Prior(Struct, frozen=True, kw_only=True):
    """A measured generation, named RUN/gen-N (or RUN, one of `bench`): its rows, the digest of the plan beside them,
    whether every cell of that has a row, and what measured it, if the plan says so.
    """

    name: str
    plan: str
    rows: tuple[Row, ...]
    finished: bool
    harness: Harness | None = None


class _PlannedCell(Struct, frozen=True):
    task: str
    arm: str
    repeat: int


class _Version(Struct, frozen=True):
    schema_version: int


class _Planned(Struct, frozen=True):
    cells: tuple[_PlannedCell, ...]
    harness: Harness | None = None


def find_priors(root: Path, config: Config, passed_over: Callable[[str], None]) -> Iterator[Prior]:
    """The generations that `reuse.from` may mean, the newest first: those of a named run, RunError if it cannot be
    used as it is; of `previous`, the compatible ones of the project, and why others cannot be read is passed on.
    """
    if config.reuse.source != PREVIOUS:
        return iter(_named(root, config.reuse.source))
    return islice(_previous(root, config, passed_over), _MOST_READ)


def _previous(root: Path, config: Config, passed_over: Callable[[str], None]) -> Iterator[Prior]:
    for run in reversed(list_runs(root)):
        for folder in _folders(run):
            try:
                prior = _read(run, folder) if _compatible(run, config) else None
            except UserError as error:
                passed_over(f"not reused: {str(error).splitlines()[0]}")
                continue
            if prior is not None:
                yield prior


def project_drift(root: Path) -> tuple[DriftState, ...]:
    """What every generation of the project knows of drift, also of removed runs, which come first. RunError names a file that cannot be read."""
    there = tuple(
        read_drift(path).state
        for run in list_runs(root)
        for path in (run.path / DRIFT, *sorted(run.path.glob(f"gen-*/{DRIFT}")))
        if path.exists() or path.is_symlink()
    )
    return (*(state for _, state in recall(root, PRUNED_DRIFT, DriftState)), *there)


def keep_drift(root: Path, run: RunFolder) -> None:
    """Keep what a run that is about to be removed knows of drift: its rows go, what it found of others stays."""
    for path in sorted(run.path.rglob(DRIFT)):
        state = read_drift(path).state
        if state != DriftState():
            remember(root, PRUNED_DRIFT, run.id, state)


def read_drift(path: Path) -> DriftFile:
    """The drift file of a generation. RunError if it is none, or of another version."""
    try:
        content = path.read_bytes()
        version = msgspec.json.decode(content, type=_Version).schema_version
        if version != DRIFT_VERSION:
            raise RunError(f"{path}: schema_version {version} is not supported, only {DRIFT_VERSION} is")
        return msgspec.json.decode(content, type=DriftFile)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(
            f"{path} cannot be read: {error}\n"
            f"  it may name rows that must not be reused; restore it, or measure everything: reuse=none"
        ) from error


def _named(root: Path, name: str) -> Sequence[Prior]:
    """The generations of a run that have rows, or the one that was named."""
    run_name, number = split_generation(name)
    run = find_run(root, run_name)
    folders = [folder for folder in _folders(run) if number is None or folder.name == f"gen-{number}"]
    if not folders:
        which = "measured generation" if number is None else f"measured generation {number}"
        raise RunError(f"reuse.from={name}: run {run.id} has no {which}\n  see {run.path}")
    return [_read(run, folder) for folder in folders]


def _folders(run: RunFolder) -> Iterator[Path]:
    """The folders of a run that hold a plan, the newest first."""
    generations = [path for path in run.path.glob("gen-*") if path.name[4:].isdecimal()]
    newest_first = sorted(generations, key=lambda path: int(path.name[4:]), reverse=True)
    yield from (folder for folder in (*newest_first, run.path) if (folder / PLAN).exists())


def _compatible(run: RunFolder, config: Config) -> bool:
    """Whether a run measured the same suite with the same agent, model and effort, by name."""
    for path in (run.path, run.path / "config.json"):
        _refuse_link(path)
    other = read_saved_config(run.path / "config.json")
    return _kin(other) == _kin(config)


def _kin(config: Config) -> tuple[str, str, str | None, str | None]:
    return (config.suite.name, config.agent.name, config.model.id, config.effort)


def _read(run: RunFolder, folder: Path) -> Prior:
    for path in (run.path, folder, *(folder / name for name in _FILES)):
        _refuse_link(path)
    planned, digest = read_plan_as(folder / PLAN, _Planned)
    rows, _ = read_every_row(folder / "results.jsonl")
    done = {row.key for row in rows if row.outcome.status != "stopped"}
    return Prior(
        name=run.id if folder == run.path else f"{run.id}/{folder.name}",
        plan=digest,
        rows=rows,
        finished=all((cell.task, cell.arm, cell.repeat) in done for cell in planned.cells),
        harness=planned.harness,
    )


def _refuse_link(path: Path) -> None:
    """RunError for a symbolic link: what it names can be exchanged while it is read."""
    if path.is_symlink():
        raise RunError(
            f"{path} is a symbolic link, which is not read as evidence\n  put the files themselves there"
        )

"""Run folders: claimed by an exclusive mkdir, so that two runs of one second never share one."""

import os
import secrets
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from bench.errors import RunError, UserError

RUNS = "runs"


class RunFolder(Struct, frozen=True):
    """Where one run keeps everything. The object store is shared by all runs of the project."""

    path: Path

    @property
    def id(self) -> str:
        """The run's name, unique in its project."""
        return self.path.name

    @property
    def objects(self) -> Path:
        """The project's object store."""
        return self.path.parent / "objects"

    def generation(self, number: int) -> Path:
        """The folder of one generation, made when it is first asked for."""
        folder = self.path / f"gen-{number}"
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise RunError(f"the folder {folder} cannot be made: {error.strerror}") from error
        return folder


def objects_of(root: Path) -> Path:
    """The object store of a project."""
    return root / RUNS / "objects"


def run_folder(root: Path, run: str) -> RunFolder:
    """The folder of the project's run of this id, whether it is there or not."""
    return RunFolder(root / RUNS / run)


def create_run(root: Path, configuration: str) -> RunFolder:
    """A fresh run folder below the project's root, named by time, configuration and chance."""
    runs = root / RUNS
    try:
        runs.mkdir(exist_ok=True)
    except OSError as error:
        raise RunError(f"the folder {runs} cannot be made: {error.strerror}") from error
    for _ in range(100):
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        path = runs / f"{stamp}-{configuration[:6]}-{secrets.token_hex(2)}"
        try:
            path.mkdir(mode=0o755)
        except FileExistsError:
            continue
        except OSError as error:
            raise RunError(f"no run folder can be made below {runs}: {error.strerror}") from error
        return RunFolder(path)
    raise RunError(f"no free run folder was found below {runs}")


@contextmanager
def removed_if_refused(run: RunFolder) -> Iterator[None]:
    """Take the run's folder away again when the request is refused before anything was measured or paid in it."""
    try:
        yield
    except UserError:
        if not any(any(run.path.rglob(evidence)) for evidence in ("results.jsonl", "spend.jsonl")):
            remove_folder(run.path)
        raise


def remove_folder(folder: Path) -> None:
    """Remove a folder that may hold frozen ones."""
    make_removable(folder)
    shutil.rmtree(folder)


def make_removable(folder: Path) -> None:
    """Give back the permission to write in frozen folders."""
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)


def list_runs(root: Path) -> tuple[RunFolder, ...]:
    """The project's runs, oldest first: their names begin with the second, and within it the first to have its
    configuration is the first.
    """
    runs = root / RUNS
    if not runs.is_dir():
        return ()
    with os.scandir(runs) as entries:
        names = [entry.name for entry in entries if entry.is_dir() and entry.name[:8].isdigit()]
    seconds = Counter(_second(name) for name in names)

    def age(name: str) -> tuple[str, int, str]:
        began = _configured(runs / name) if seconds[_second(name)] > 1 else 0
        return (_second(name), began, name)

    return tuple(RunFolder(runs / name) for name in sorted(names, key=age))


def _second(name: str) -> str:
    return name.split("-", 1)[0]


def _configured(run: Path) -> int:
    """When a run got its configuration, in nanoseconds; one that has none yet is the newest."""
    try:
        return (run / "config.json").stat().st_mtime_ns
    except OSError:
        return sys.maxsize

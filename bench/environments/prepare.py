"""What `bench prepare` does for tasks with requirements: it builds their virtual environments."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from bench.environments.environments import TARGET, prepared_folder
from bench.environments.virtual import (
    environment_key,
    host_python,
    loosen_scripts,
    make_virtual,
    packages_folder,
    seen_python,
)
from bench.errors import SuiteError
from bench.suite import Environment, Task, pip_said, require_pip, run_pip

Progress = Callable[[str], None]


class PreparedEnvironment(Struct, frozen=True):
    """A virtual environment that is ready, and the tasks that use it. `fresh` is false when it was there already."""

    folder: Path
    tasks: tuple[str, ...]
    fresh: bool


def prepare_environments(
    root: Path, tasks: Sequence[Task], *, contained: bool, index: Path | None, progress: Progress
) -> tuple[PreparedEnvironment, ...]:
    """Build what the tasks with requirements need and the project `root` does not have yet, each whole or not at all.

    `index` is a folder of wheels that replaces the package index. SuiteError names the task, with what pip said.
    """
    users: dict[Environment, list[str]] = {}
    for task in tasks:
        if task.environment.requirements is not None:
            users.setdefault(task.environment, []).append(task.id)
    workshop = _Workshop(prepared_folder(root), seen_python(contained=contained)[0], index, progress)
    return tuple(_prepare(workshop, environment, names) for environment, names in users.items())


class _Workshop(Struct, frozen=True):
    folder: Path
    python: str
    index: Path | None
    progress: Progress


def _prepare(workshop: _Workshop, environment: Environment, tasks: Sequence[str]) -> PreparedEnvironment:
    folder = workshop.folder / environment_key(environment, workshop.python)
    named = f"task `{tasks[0]}`" + (f" and {len(tasks) - 1} more" if len(tasks) > 1 else "")
    if folder.is_dir():
        workshop.progress(f"already prepared: the Python environment of {named}")
        return PreparedEnvironment(folder, tuple(tasks), fresh=False)
    workshop.progress(f"installing the Python environment of {named}")
    require_pip()
    try:
        workshop.folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".", dir=workshop.folder) as scratch:
            built = Path(scratch) / "environment"
            _install(built, environment.requirements or b"", workshop.index, named)
            make_virtual(built, workshop.python)
            _put_in_place(built, folder)
    except OSError as error:
        raise SuiteError(f"the Python environment of {named} cannot be written: {error}") from error
    return PreparedEnvironment(folder, tuple(tasks), fresh=True)


def _install(folder: Path, requirements: bytes, index: Path | None, named: str) -> None:
    """Make `folder` an environment with exactly the pinned packages, as pip checks them."""
    make_virtual(folder, str(host_python()))
    listed = folder.parent / "requirements.txt"
    listed.write_bytes(requirements)
    options = ("--no-compile", "--no-warn-script-location", "--require-hashes", "--only-binary=:all:")
    done = run_pip(
        *("--python", str(folder / "bin" / "python3")),
        *("install", *options, "-r", str(listed)),
        index=index,
        directory=folder.parent,
    )
    if done.returncode != 0:
        raise SuiteError(
            f"the requirements of {named} cannot be installed.\n"
            "Every package and every package that it needs must be pinned, with the hash of a wheel for this "
            f"Python and platform. pip says:\n{pip_said(done.stderr or done.stdout)}"
        )
    loosen_scripts(folder)
    _compile(folder)


def _compile(folder: Path) -> None:
    """Compile what can be: nothing can be written where the environment is mounted. A package may hold files that
    are for another Python, so a failure says nothing.
    """
    moved = ("-s", str(folder), "-p", TARGET, "--invalidation-mode", "unchecked-hash")
    subprocess.run(
        [sys.executable, "-I", "-m", "compileall", "-qq", *moved, str(packages_folder(folder))],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def _put_in_place(built: Path, folder: Path) -> None:
    """Give the finished environment its place, unless another process was faster."""
    try:
        built.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise

"""The environments of a run's tasks: found or made once, mounted read-only."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from bench.digest import digest_tree
from bench.environments.model import SYSTEM_PATH, OpenedEnvironment
from bench.environments.virtual import environment_key, make_virtual, seen_python
from bench.errors import SuiteError, WorkspaceError
from bench.project import RUNS
from bench.sandbox import ReadOnly
from bench.suite import Environment, Task

TARGET = "/opt/venv"


class Environments:
    """Opens what tasks ask for. Those with requirements were prepared below `root`; one without is made below
    `scratch`. `contained` says whether commands see mounts, or the folders where they lie.
    """

    def __init__(self, root: Path, scratch: Path, *, contained: bool) -> None:
        self._prepared, self._scratch = prepared_folder(root), scratch / "e"
        self._contained = contained

    def check(self, tasks: Iterable[Task], suite: str) -> None:
        """SuiteError with the command to type, when a task needs packages that are not prepared."""
        missing = [task.id for task in tasks if self._is_missing(task.environment)]
        if missing:
            host = "" if self._contained else " sandbox=host"
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise SuiteError(
                f"the Python environment of task `{missing[0]}`{more} is not prepared for this Python\n"
                f"  run `bench prepare {suite}{host}`"
            )

    def open(self, environment: Environment) -> OpenedEnvironment:
        """What commands get; WorkspaceError where it cannot be made, or is not prepared."""
        if not environment.python:
            return OpenedEnvironment()
        python, mounts = seen_python(contained=self._contained)
        folder = self._folder(environment, python)
        seen = TARGET if self._contained else str(folder)
        return OpenedEnvironment(
            mounts=(*mounts, ReadOnly(folder, TARGET)),
            variables={
                "PATH": f"{seen}/bin:{SYSTEM_PATH}",
                # Caches beside the sources would count as changes of a session that only ran something.
                "PYTHONDONTWRITEBYTECODE": "1",
            },
        )

    def _is_missing(self, environment: Environment) -> bool:
        if environment.requirements is None:
            return False
        python, _ = seen_python(contained=self._contained)
        return not (self._prepared / environment_key(environment, python)).is_dir()

    def _folder(self, environment: Environment, python: str) -> Path:
        key = environment_key(environment, python)
        if environment.requirements is None:
            return _made_once(self._scratch / key, python)
        if not (self._prepared / key).is_dir():
            raise WorkspaceError(f"the Python environment {key[:12]} is not prepared")
        return self._prepared / key


def prepared_digest(root: Path, environment: Environment, *, contained: bool) -> str:
    """Digest of the files of a prepared environment, blank where it is not prepared for this Python."""
    python, _ = seen_python(contained=contained)
    folder = prepared_folder(root) / environment_key(environment, python)
    return digest_tree(folder) if folder.is_dir() else ""


def prepared_folder(root: Path) -> Path:
    """Where the project keeps what was prepared, by key: outside every run's folder."""
    return root / RUNS / "prepared" / "environments"


def _made_once(folder: Path, python: str) -> Path:
    """An environment without packages, made whole by whoever asks first."""
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".", dir=folder.parent))
        made.chmod(0o755)
        make_virtual(made, python)
        if not folder.is_dir():
            made.rename(folder)
    except OSError as error:
        if not folder.is_dir():
            raise WorkspaceError(f"a Python environment cannot be made in {folder}: {error}") from error
    return folder

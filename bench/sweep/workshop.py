"""Commands of a task that run before any session: its setup, and what derives assets of its starting state."""

import threading
from pathlib import Path

from msgspec import Struct

from bench.arms import confined_environment, dependency_mounts, limits_of
from bench.cancellation import Cancellation
from bench.config import Config
from bench.environments import EnvironmentSource
from bench.sandbox import Command, Mount, ProcessResult, Sandbox, Writable
from bench.suite import Suite, Task
from bench.workspace import Workspaces


class Workshop(Struct, frozen=True, kw_only=True):
    """What templates and derived assets are made with. Its `cpu` slots are those of the run's checks and oracles."""

    config: Config
    root: Path
    suite: Suite
    sandbox: Sandbox
    workspaces: Workspaces
    environments: EnvironmentSource
    scratch: Path
    cpu: threading.Semaphore
    cancellation: Cancellation

    def run(
        self, task: Task, command: str, folder: Path, copy: Mount, *, output: bool = False
    ) -> ProcessResult:
        """Run a shell command on `copy`, which it sees as the working copy, confined and where no skill is.
        `folder` is its own; with `output`, the folder of that name in it is seen as /output, and named by OUTPUT.
        """
        for name in ("home", "output", "temporary"):
            (folder / name).mkdir(parents=True)
        layout = self.sandbox.layout(folder)
        opened = self.environments.open(task.environment)
        leaves = (Writable(folder / "output", layout.output),) if output else ()
        return self.sandbox.run(
            Command(
                argv=("/bin/sh", "-c", command),
                directory=layout.directory(copy),
                environment=confined_environment(layout, opened)
                | ({"OUTPUT": layout.output} if output else {}),
                mounts=(
                    copy,
                    Writable(folder / "home", layout.home),
                    *dependency_mounts(task.dependencies, layout.workspace),
                    *opened.mounts,
                    *leaves,
                ),
                seconds=self.config.timeout,
                limits=limits_of(self.config),
            ),
            self.cancellation,
        )

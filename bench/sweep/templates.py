"""The templates of a run's tasks: what is stripped from each, and where its setup command runs."""

import threading
from collections.abc import Sequence
from pathlib import Path

from bench.arms import confined_environment, dependency_mounts, limits_of
from bench.cancellation import Cancellation
from bench.config import Config
from bench.project import RUNS
from bench.sandbox import Command, ProcessResult, Sandbox, Writable
from bench.suite import RepositorySource, Suite, Task
from bench.workspace import Template, Templates

# where agents look for skills: no template holds any, so that an arm has just the skills that it declares
SKILL_ROOTS = (".claude/skills", ".agents/skills", ".codex/skills", ".opencode/skills", ".gemini/skills")


class TaskTemplates:
    """Builds each task's template once, on a CPU slot. Without the project's own suite, queue and runs."""

    def __init__(
        self,
        config: Config,
        root: Path,
        suite: Suite,
        sandbox: Sandbox,
        scratch: Path,
        cpu: threading.Semaphore,
        cancellation: Cancellation,
    ) -> None:
        self._config, self._sandbox, self._scratch = config, sandbox, scratch
        self._cpu, self._cancellation = cpu, cancellation
        self._private = [
            suite.folder,
            root / RUNS,
            *([root / config.suite.learnings] if config.suite.learnings else []),
        ]
        roots = {*SKILL_ROOTS, *(spec.root for spec in config.skills.values())}
        roots |= {mirror for spec in config.skills.values() for mirror in spec.mirrors}
        self._templates = Templates(scratch / "t", self._setup, tuple(sorted(roots)))

    def build(self, task: Task) -> Template:
        """The task's template; WorkspaceError says why there is none, to everybody who asks."""
        with self._cpu:
            return self._templates.build(task, stripped(task, self._private))

    def _setup(self, task: Task, tree: Path) -> ProcessResult:
        """Run the task's setup command on its template, confined, where no skill is."""
        folder = self._scratch / "setup" / tree.parent.name
        for name in ("home", "output", "temporary"):
            (folder / name).mkdir(parents=True)
        layout = self._sandbox.layout(folder)
        workspace = layout.seen(tree, layout.workspace)
        return self._sandbox.run(
            Command(
                argv=("/bin/sh", "-c", task.setup),
                directory=workspace,
                environment=confined_environment(layout),
                mounts=(
                    Writable(tree, layout.workspace),
                    Writable(folder / "home", layout.home),
                    *dependency_mounts(task.dependencies, layout.workspace),
                ),
                seconds=self._config.timeout,
                limits=limits_of(self._config),
            ),
            self._cancellation,
        )


def stripped(task: Task, private: Sequence[Path]) -> tuple[str, ...]:
    """The private paths that lie inside a task's source, relative to it."""
    if not isinstance(task.source, RepositorySource):
        return ()
    source = task.source.path.resolve()
    inside = (path.resolve() for path in private if path.resolve().is_relative_to(source))
    return tuple(sorted(path.relative_to(source).as_posix() for path in inside if path != source))

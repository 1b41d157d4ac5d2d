"""The templates of a run's tasks: what is stripped from each, and what is derived from it."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from bench.config import Config, FolderTool
from bench.digest import digest_json
from bench.project import RUNS
from bench.sandbox import ProcessResult, Writable
from bench.suite import Derived, Task, task_digests
from bench.sweep.deriving import derive_asset
from bench.sweep.workshop import Workshop
from bench.workspace import Once, Template, Templates

# where agents look for skills: no template holds any, so that an arm has just the skills that it declares
SKILL_ROOTS = (".claude/skills", ".agents/skills", ".codex/skills", ".opencode/skills", ".gemini/skills")


class TaskTemplates:
    """Builds each task's template once, and each asset of a template, on a CPU slot. No template holds the
    project's own suite, queue and runs.
    """

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        config, root = workshop.config, workshop.root
        self._private = [
            workshop.suite.folder,
            root / RUNS,
            *queues(config, root),
            *(
                root / tool.source
                for arm in config.arms.values()
                for tool in arm.tools.values()
                if isinstance(tool, FolderTool)
            ),
        ]
        roots = {*SKILL_ROOTS, *(spec.root for spec in config.skills.values())}
        roots |= {mirror for spec in config.skills.values() for mirror in spec.mirrors}
        self._templates = Templates(workshop.scratch / "t", self._setup, tuple(sorted(roots)))
        self._tasks: Once[Template] = Once()
        self._assets: Once[Path] = Once()
        self._numbers = itertools.count(1)

    def build(self, task: Task) -> Template:
        """The task's template; WorkspaceError says why there is none, to everybody who asks."""
        return self._tasks.get(task.id, lambda: self._built(task))

    def derive(self, task: Task, asset: Derived) -> Path:
        """The folder with what the asset's command makes of the task's template, not writable; WorkspaceError
        says why there is none, to everybody who asks.
        """
        template = self.build(task)
        key = digest_json([template.digest, asset.command, task_digests(task).dependencies])

        def make() -> Path:
            folder = self._workshop.scratch / "d" / str(next(self._numbers))
            return derive_asset(self._workshop, task, template, asset, folder)

        return self._assets.get(key, make)

    def _built(self, task: Task) -> Template:
        with self._workshop.cpu:
            return self._templates.build(task, stripped(task, self._private))

    def _setup(self, task: Task, tree: Path) -> ProcessResult:
        """Run the task's setup command on its template, confined, where no skill is."""
        workshop = self._workshop
        folder = workshop.scratch / "setup" / tree.parent.name
        copy = Writable(tree, workshop.sandbox.layout(folder).workspace)
        return workshop.run(task, task.setup, folder, copy)


def queues(config: Config, root: Path) -> list[Path]:
    """Where ideas lie: a queue's whole folder, for it holds those of other suites, unless it is the root itself."""
    named = [config.suite.learnings, config.proposer.queue if config.proposer else None]
    files = [root / name for name in named if name]
    return [file if file.parent == root else file.parent for file in files]


def stripped(task: Task, private: Sequence[Path]) -> tuple[str, ...]:
    """The private paths that lie inside a task's source, relative to it."""
    source = task.source.path.resolve()
    inside = (path.resolve() for path in private if path.resolve().is_relative_to(source))
    return tuple(sorted(path.relative_to(source).as_posix() for path in inside if path != source))

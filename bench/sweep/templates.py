"""The templates of a run's tasks: what is stripped from each, and what is derived from it."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.config import Config, FolderTool
from bench.digest import digest_json
from bench.project import RUNS
from bench.sandbox import ProcessResult, Writable
from bench.suite import Derived, Task, hidden_of, task_digests
from bench.sweep.deriving import derive_asset
from bench.sweep.workshop import Workshop
from bench.workspace import Once, Template, Templates

# where agents look for skills: no template holds any, so that an arm has just the skills that it declares
SKILL_ROOTS = (".claude/skills", ".agents/skills", ".codex/skills", ".opencode/skills", ".gemini/skills")


class TaskTemplates:
    """Builds each task's template once, and each asset of a template, on a CPU slot. No template holds the
    project's own suite, queue, proposals and runs, nor a copy of the suite or of a proposal.
    """

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        config, root = workshop.config, workshop.root
        proposed = proposals(config, root)
        self._private = [
            workshop.suite.folder,
            root / RUNS,
            *queues(config, root),
            *proposed,
            *(
                root / tool.source
                for arm in config.arms.values()
                for tool in arm.tools.values()
                if isinstance(tool, FolderTool)
            ),
        ]
        roots = {*SKILL_ROOTS, *(spec.root for spec in config.skills.values())}
        roots |= {mirror for spec in config.skills.values() for mirror in spec.mirrors}
        hidden = hidden_of(workshop.suite, new_files(proposed, root))
        self._templates = Templates(workshop.scratch / "t", self._setup, tuple(sorted(roots)), hidden)
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


PROPOSAL_NOTE = "proposal.md"


def queues(config: Config, root: Path) -> list[Path]:
    """Where ideas lie: a queue's whole folder, for it holds those of other suites, unless it is the root itself."""
    named = [config.suite.learnings, config.proposer.queue if config.proposer else None]
    files = [root / name for name in named if name]
    return [file if file.parent == root else file.parent for file in files]


def proposals(config: Config, root: Path) -> list[Path]:
    """What the options of a proposer name, an overlay say, with the note that may lie beside it: an arm that is
    not the candidate's must not read the change that it is compared with.
    """
    options = config.proposer.options if config.proposer else {}
    named = [root / value for value in options.values() if isinstance(value, str) and value]
    inside = [path for path in named if path.exists() and not root.resolve().is_relative_to(path.resolve())]
    return [*inside, *(path.parent / PROPOSAL_NOTE for path in inside)]


def new_files(places: Sequence[Path], root: Path) -> Iterator[bytes]:
    """The bytes of the files in a proposal that are not what the project holds at the same place."""
    for folder in places:
        for path in folder.rglob("*") if folder.is_dir() else ():
            known = root / path.relative_to(folder)
            if path.is_file() and not (known.is_file() and known.read_bytes() == path.read_bytes()):
                yield path.read_bytes()


def stripped(task: Task, private: Sequence[Path]) -> tuple[str, ...]:
    """The private paths that lie inside a task's source, relative to it."""
    source = task.source.path.resolve()
    inside = (path.resolve() for path in private if path.resolve().is_relative_to(source))
    return tuple(sorted(path.relative_to(source).as_posix() for path in inside if path != source))

"""Templates: each starting state is built once, whoever asks for it and however many do at once."""

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bench.digest import digest_bytes, digest_json
from bench.errors import WorkspaceError
from bench.suite import Hidden, Task, environment_digest
from bench.workspace.base import Base, build_base
from bench.workspace.folders import copy_folder
from bench.workspace.once import Once
from bench.workspace.paths import relative
from bench.workspace.protocol import Template
from bench.workspace.removal import remove_tree
from bench.workspace.sources import identity, opened
from bench.workspace.start import SetupRunner, apply_change, copy_assets, refuse_open_oracle, run_setup

_Result = TypeVar("_Result")
NOTHING_HIDDEN = Hidden()


class Templates:
    """Builds templates below `folder`, which belongs to this object alone. `setup` runs the setup commands of
    tasks; `exclude` are the skill roots: no template holds them, and git ignores them in every one. No template
    holds a copy of what is `hidden` either, wherever it lies in a source.
    """

    def __init__(
        self,
        folder: Path,
        setup: SetupRunner | None = None,
        exclude: tuple[str, ...] = (),
        hidden: Hidden = NOTHING_HIDDEN,
    ) -> None:
        self._folder = folder.resolve()
        self._hidden = hidden
        self._setup = setup
        self._roots = _prefixes(exclude)
        self._numbers = itertools.count(1)
        self._bases: Once[Base] = Once()
        self._templates: Once[Template] = Once()

    def build(self, task: Task, excluded: tuple[str, ...] = ()) -> Template:
        """The starting state of a task, without the paths of `excluded` and what is below them. WorkspaceError
        says why it cannot be built, to everybody who asks for it.
        """
        prefixes = tuple(sorted({*_prefixes(excluded), *self._roots}))
        digest = _digest(task, prefixes, self._roots)
        return self._templates.get(digest, lambda: self._built(task, prefixes, digest))

    def _built(self, task: Task, prefixes: tuple[bytes, ...], digest: str) -> Template:
        base = self._base(task, prefixes)
        tree = base.tree
        if isinstance(task.change, bytes) or task.assets or task.setup:
            tree = self._fresh(lambda tree: self._started(task, base, tree, (*prefixes, *base.left_out)))
        refuse_open_oracle(task, tree)
        if base.left_out:
            digest = digest_json([digest, _digests(base.left_out)])
        return Template(digest=digest, tree=tree, commit=base.commit, base_commit=identity(task.source))

    def _base(self, task: Task, prefixes: tuple[bytes, ...]) -> Base:
        """The sanitized repository of a task's source; tasks of one source share it."""
        committed = task.change != "all"

        def make(tree: Path) -> Base:
            with opened(task.source, prefixes, tree.parent, self._hidden) as contents:
                return build_base(contents, tree, committed=committed, ignored=self._roots)

        key = digest_json([identity(task.source), committed, _digests(prefixes)])
        return self._bases.get(key, lambda: self._fresh(make))

    def _started(self, task: Task, base: Base, tree: Path, prefixes: tuple[bytes, ...]) -> Path:
        """Make `tree` the task's starting state. Files are shared with the base unless a command may write them."""
        copy_folder(os.fsencode(base.tree), os.fsencode(tree), share=not task.setup)
        if isinstance(task.change, bytes):
            apply_change(task, task.change, base, tree, prefixes)
        copy_assets(task.assets, tree)
        if task.setup:
            run_setup(task, base, tree, self._setup)
        return tree

    def _fresh(self, fill: Callable[[Path], _Result]) -> _Result:
        """What `fill` makes in a new folder, which is removed if it fails."""
        place = self._numbered()
        try:
            return fill(place / "tree")
        except OSError as error:
            remove_tree(place)
            raise WorkspaceError(f"a template cannot be built in {place}: {error}") from error
        except BaseException:
            remove_tree(place)
            raise

    def _numbered(self) -> Path:
        """A new folder. Its name tells an agent that sees it in its mount table nothing."""
        self._folder.mkdir(parents=True, exist_ok=True)
        while True:
            place = self._folder / str(next(self._numbers))
            try:
                place.mkdir()
            except FileExistsError:
                continue  # of an earlier run that was killed
            return place


def _prefixes(paths: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(relative(path, "a path to leave out of a template") for path in paths)


def _digest(task: Task, prefixes: tuple[bytes, ...], roots: tuple[bytes, ...]) -> str:
    """Over everything that the starting state is made from, and nothing that only says where it lies."""
    return digest_json(
        {
            "source": identity(task.source),
            "change": digest_bytes(task.change) if isinstance(task.change, bytes) else task.change,
            "setup": task.setup,
            "assets": [[asset.target, asset.digest] for asset in task.assets],
            "dependencies": [[each.target, each.digest] for each in task.dependencies] if task.setup else [],
            "environment": environment_digest(task.environment) if task.setup else None,
            "excluded": _digests(prefixes),
            "ignored": _digests(roots),
        }
    )


def _digests(paths: tuple[bytes, ...]) -> list[str]:
    return [digest_bytes(path) for path in paths]

"""What the system's own folders, mounted into every sandbox, must not show."""

import importlib.util
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

_PACKAGES = ("bench", "evolve")
_DISTRIBUTION = "incumbent"
_ROOT_MARK = "pyproject.toml"

# The labels of the suite `wild` are what ruff reports: an agent that can run it only reads them off.
_LABELLER = "ruff"
_DEEPEST = 3  # folders between a tree and a bin/ that is looked into


def hidden_paths(trees: Iterable[Path]) -> tuple[Path, ...]:
    """The files and folders below `trees` that show this project, or the tool that labelled its suites."""
    mounted = tuple(tree.resolve() for tree in trees)
    candidates = (path.resolve() for path in (*_own_folders(), *_labellers(mounted)))
    shown = {path for path in candidates if any(path.is_relative_to(tree) for tree in mounted)}
    return tuple(sorted(path for path in shown if not shown.intersection(path.parents)))


def _own_folders() -> Iterator[Path]:
    """The folders of this project's packages and metadata, and its checkout if it runs from one."""
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        for location in (spec.submodule_search_locations or ()) if spec else ():
            folder = Path(location)
            yield folder
            if (folder.parent / _ROOT_MARK).exists():
                yield folder.parent
    try:
        installed = distribution(_DISTRIBUTION)
    except PackageNotFoundError:  # runs from a checkout
        return
    for name in sorted({file.parts[0] for file in installed.files or ()}):
        if name.endswith((".dist-info", ".pth")):
            yield Path(str(installed.locate_file(name)))


def _labellers(trees: tuple[Path, ...]) -> Iterator[Path]:
    """Every copy of the labelling tool where the system, or this program's environment, has programs and packages."""
    for tree in trees:
        yield from tree.glob(_LABELLER)  # a /bin that is no link into /usr
        for depth in range(1, _DEEPEST + 1):  # /usr/local/cargo/bin
            yield from tree.glob("*/" * depth + f"bin/{_LABELLER}")
    for prefix in (Path(sys.prefix), *trees, *(tree / "local" for tree in trees)):
        yield from prefix.glob(f"bin/{_LABELLER}")
        for packages in prefix.glob("lib*/python3*/*-packages"):
            yield from packages.glob(_LABELLER)
            yield from packages.glob(f"{_LABELLER}-*.dist-info")

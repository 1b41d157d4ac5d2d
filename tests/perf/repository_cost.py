"""What a cell costs on a large repository, beside cloning and sanitizing it for each cell."""

import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from measuring import Cpu, Line, cpu_of, least_cpu, milliseconds
from projects import Project, Quiet, make_project, scratch

LARGE, SMALL = 5000, 200  # files
SIZE = 20_000  # bytes of each
CELLS = 10  # of a sweep
ROUNDS = 3

LEAST_CHEAPER = 20.0
MOST_TIMES_SMALL = 2.0

_WORK = "echo changed >> folder-0/file-0.txt\n"
_IDENTITY = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.invalid")


def on_a_repository() -> Iterator[Line]:
    """Cells whose agent changes one file: working copy, two sandboxes, capture, scoring and removal."""
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="perf-")))
        memory = stack.enter_context(scratch())
        large, small = (_repository(root / f"of-{files}", files) for files in (LARGE, SMALL))
        sweeps = []
        for name, repository in (("large", large), ("small", small)):
            project = _project(root / name, repository)
            chosen = ("sandbox=bubblewrap", "workers=1", f"repeats={CELLS}", f"sandbox.scratch={memory}")
            sweeps.append(stack.enter_context(project.ground(*chosen)))
            sweeps[-1].sweep(Quiet())
        of_large: list[Cpu] = []
        of_small: list[Cpu] = []
        cloned: list[Cpu] = []
        for number in range(ROUNDS):
            of_large.append(cpu_of(lambda: sweeps[0].sweep(Quiet()), CELLS))
            of_small.append(cpu_of(lambda: sweeps[1].sweep(Quiet()), CELLS))
            clone = memory / f"clone-{number}"
            cloned.append(cpu_of(partial(clone_and_sanitize, large, clone)))
        yield from _lines(least_cpu(of_large), least_cpu(of_small), least_cpu(cloned))


def _lines(large: Cpu, small: Cpu, cloned: Cpu) -> Iterator[Line]:
    yield Line(
        what=f"a cell on {LARGE} files, {LARGE * SIZE // 10**6} MB, all of it",
        measured=milliseconds(large.total),
        baseline=f"{milliseconds(cloned.total)} clone --no-local, sanitize, remove",
        value=cloned.total / large.total,
        bar=LEAST_CHEAPER,
        at_least=True,
    )
    yield Line(
        what=f"  beside one on {SMALL} files",
        measured=milliseconds(large.total),
        baseline=milliseconds(small.total),
        value=large.total / small.total,
        bar=MOST_TIMES_SMALL,
    )


def clone_and_sanitize(repository: Path, clone: Path) -> None:
    """The cheapest way by git commands: a clone, one commit without history, nothing that leads to another."""
    _git(repository, "clone", "--quiet", "--no-local", str(repository), str(clone))
    commit = _git(clone, "commit-tree", "HEAD^{tree}", "-m", "Start").strip()
    _git(clone, "remote", "remove", "origin")
    _git(clone, "update-ref", "HEAD", commit)
    _git(clone, "reflog", "expire", "--expire=now", "--all")
    _git(clone, "-c", "gc.pruneExpire=now", "prune")
    shutil.rmtree(clone)


def _repository(folder: Path, files: int) -> Path:
    """A repository with a little history and files that do not compress well."""
    chance = random.Random(0)
    folder.mkdir()
    _git(folder, "init", "--quiet", "--initial-branch=main")
    for number in range(files):
        path = folder / f"folder-{number // 50}" / f"file-{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(chance.randbytes(SIZE // 2).hex())
    for message in ("one", "two"):
        (folder / "history.txt").write_text(message)
        _git(folder, "add", "--all")
        _git(folder, *_IDENTITY, "commit", "--quiet", "-m", message)
    _git(folder, "repack", "-a", "-d", "--quiet")
    return folder


def _project(root: Path, repository: Path) -> Project:
    return make_project(root, f"{{repository: {repository}, ref: main}}", _WORK)


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *_IDENTITY, *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout

"""What `bench new-task` does: proposes a task from a commit and adds it to a suite of the project."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from bench.cli_run import print_json
from bench.commandline import cancel_on_signals
from bench.config import SuiteConfig
from bench.disk import read_regular, read_words, write_whole
from bench.errors import SuiteError
from bench.exits import ExitCode
from bench.newtask.model import Asked, NewTask
from bench.newtask.propose import propose
from bench.newtask.writing import option_file, suite_files, with_entry
from bench.suite import load_suite

Say = Callable[[str], None]


class TaskAdded(Struct, frozen=True, kw_only=True):
    """What `bench new-task --json` prints: the task, its commit, the hidden tests that fail without the commit's
    change, and the files that were written.
    """

    task: str
    commit: str
    repaired: tuple[str, ...]
    files: tuple[str, ...]


def new_task(options: argparse.Namespace, root: Path, say: Say) -> ExitCode:
    """Propose the task, add it to the suite, and say what to do next."""
    asked = Asked(
        repository=Path(options.repo or root).resolve(),
        sha=options.from_commit,
        suite=options.suite,
        task=options.id,
        requirements=read_regular(Path(options.requirements)) if options.requirements else None,
        one_purpose=options.one_purpose,
    )
    with cancel_on_signals(quiet=options.quiet) as cancellation:
        made = propose(asked, options.overrides, cancellation, say)
    written = add_task(root, asked, made)
    for path in written:
        say(f"wrote {path}")
    if options.json:
        print_json(
            TaskAdded(task=made.task, commit=made.commit, repaired=made.repaired, files=tuple(written))
        )
    else:
        print(
            f"task {made.task} from commit {made.commit[:12]}: {len(made.repaired)} hidden tests fail without its change\n"
            f"next: read suites/{asked.suite}/prompts/{made.task}.md, then "
            f"{'' if asked.requirements is None else f'bench prepare {asked.suite}, '}"
            f"bench validate {asked.suite} --task {made.task}"
        )
    return ExitCode.VERDICT


def add_task(root: Path, asked: Asked, made: NewTask) -> list[str]:
    """Write the task's files and its entry into the suite, which is made if it is not there; what was written,
    relative to the root. SuiteError, with nothing left, if the suite could not be used afterwards.
    """
    suite = root / "suites" / asked.suite
    repository = os.path.relpath(asked.repository, suite.resolve())
    before = read_words(suite / "suite.yaml") if (suite / "suite.yaml").exists() else None
    if before is None:
        document = suite_files(asked.suite, [made.entry], repository)["suite.yaml"].decode()
    else:
        document = with_entry(before, made.entry, repository)
    files = {suite / path: content for path, content in made.files.items()}
    option = root / "conf" / "suite" / f"{asked.suite}.yaml"
    if not option.exists():
        files[option] = option_file(asked.suite)
    taken = [path for path in files if path.exists() and path.read_bytes() != files[path]]
    if taken:
        raise SuiteError(f"{taken[0]} is there already\n  give the task another name: --id NAME")
    new = [path for path in files if not path.exists()]
    try:
        for path in new:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, files[path])
        write_whole(suite / "suite.yaml", document.encode())
        load_suite(SuiteConfig(name=asked.suite, path=f"suites/{asked.suite}"), root)
    except SuiteError:
        _take_back(new, suite / "suite.yaml", before)
        raise
    return [os.path.relpath(path, root) for path in (*new, suite / "suite.yaml")]


def _take_back(new: list[Path], manifest: Path, before: str | None) -> None:
    for path in new:
        path.unlink(missing_ok=True)
    if before is None:
        manifest.unlink(missing_ok=True)
    else:
        write_whole(manifest, before.encode())

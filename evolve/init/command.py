"""What `evolve init` does: a project around one certified task, all of it or nothing."""

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from bench.cancellation import Cancellation
from bench.certificate import certify, trying, write_certificate
from bench.cli_run import print_json
from bench.commandline import cancel_on_signals, current_folder
from bench.config import load_config
from bench.disk import read_regular, write_whole
from bench.errors import SuiteError, UserError
from bench.exits import ExitCode
from bench.newtask import (
    Asked,
    NewTask,
    prepare_project,
    propose,
    read_commit,
    recent_commits,
    static_refusals,
    suite_files,
    tracked_files,
    write_project,
)
from bench.scoring import is_test
from bench.sweep import open_ground
from evolve.init.files import SKILL_PATH, project_files

Say = Callable[[str], None]


class ProjectMade(Struct, frozen=True, kw_only=True):
    """What `evolve init --json` prints: the project's root, its suite, and the files that were written."""

    root: str
    suite: str
    files: tuple[str, ...]


_MOST_COMMITS = 200
_MOST_TRIED = 5
_MOST_REASONS = 8


def init_command(options: argparse.Namespace, say: Say) -> ExitCode:
    """Make the project; UserError with the reason if it cannot be, and then nothing was written."""
    root = Path(options.root).resolve() if options.root else current_folder()
    _refuse_present(root, options.suite)
    newest = recent_commits(root, _MOST_COMMITS)
    if not any(map(is_test, tracked_files(root, newest[0]))):
        raise SuiteError(f"{root} holds no tests: nothing would show whether a solution is right")
    with (
        cancel_on_signals(quiet=options.quiet) as cancellation,
        tempfile.TemporaryDirectory(prefix="init-") as folder,
    ):
        files = _made(options, root, newest, Path(folder), cancellation, say)
        if cancellation.cancelled:
            return ExitCode.INTERRUPTED
        _write(root, files)
    if options.json:
        print_json(ProjectMade(root=str(root), suite=options.suite, files=tuple(sorted(files))))
    else:
        print("\n".join([*(f"wrote {path}" for path in sorted(files)), *_closing_lines(options)]))
    return ExitCode.VERDICT


def _closing_lines(options: argparse.Namespace) -> list[str]:
    """What to do next."""
    prepare = [f"  bench prepare {options.suite}"] if options.requirements else []
    return [
        f"the task of the suite {options.suite} is certified; read its prompt, commit these files, then:",
        *prepare,
        "  evolve plan",
        "  evolve rehearse agent=claude_code model=claude_opus_5",
        "  evolve agent=claude_code model=claude_opus_5",
    ]


def _refuse_present(root: Path, suite: str) -> None:
    """UserError for what init would mix with."""
    if (root / "evolve.toml").exists():
        raise UserError(f"{root} is a project already: it has an evolve.toml\n  add a task: bench new-task")
    for name in ("conf", f"suites/{suite}"):
        if (root / name).exists():
            raise UserError(
                f"{root} has a {name} already, and its files would become part of the project\n"
                "  move it away, or write evolve.toml yourself (docs/configuration.md); nothing was written"
            )


def _made(
    options: argparse.Namespace,
    root: Path,
    newest: tuple[str, ...],
    folder: Path,
    cancellation: Cancellation,
    say: Say,
) -> Mapping[str, bytes]:
    """The files of a project with the newest commit that makes a certified task, tried out in `folder`."""
    reasons: Counter[str] = Counter()
    chosen = (options.from_commit,) if options.from_commit else newest
    requirements = read_regular(Path(options.requirements)) if options.requirements else None
    for number, asked in enumerate(_candidates(options, root, chosen, requirements, reasons)):
        if number >= _MOST_TRIED or cancellation.cancelled:
            break
        say(f"trying commit {asked.sha[:12]}")
        stage = folder / str(number)
        try:
            task = propose(asked, options.overrides, cancellation, say)
            _stage(asked, task, stage)
            prepare_project(stage, asked, say)
            return _certified(options, task, stage, cancellation)
        except SuiteError as error:
            reasons[str(error).partition("makes no task:")[2].strip() or str(error)] += 1
    if cancellation.cancelled:
        return {}
    said = [f"{count} x {why}" for why, count in reasons.most_common(_MOST_REASONS)]
    raise SuiteError(
        "\n  ".join([f"no commit of {root} makes a task that can be relied on; nothing was written", *said])
    )


def _candidates(
    options: argparse.Namespace,
    root: Path,
    shas: tuple[str, ...],
    requirements: bytes | None,
    reasons: Counter[str],
) -> Iterator[Asked]:
    """The commits that nothing can be seen to speak against; what does is counted."""
    for sha in shas:
        asked = Asked(
            repository=root,
            sha=sha,
            suite=options.suite,
            requirements=requirements,
            one_purpose=options.one_purpose,
        )
        against = static_refusals(asked, read_commit(root, sha))
        if against:
            reasons[against[0]] += 1
        else:
            yield asked


def _stage(asked: Asked, task: NewTask, stage: Path) -> None:
    """Write the whole project to a folder where it can be tried out."""
    write_project(stage, asked.suite, [task], str(asked.repository))
    more = project_files(asked.repository.name, asked.suite, datetime.now(UTC).date().isoformat())
    for path, content in more.items():
        (stage / path).parent.mkdir(parents=True, exist_ok=True)
        (stage / path).write_bytes(content)


def _certified(
    options: argparse.Namespace, task: NewTask, stage: Path, cancellation: Cancellation
) -> Mapping[str, bytes]:
    """The files of the project in `stage`, once its task was certified. SuiteError says why it was not."""
    load_config(options.overrides, root=stage, config_dirs=(), command="evolve")
    config, _ = load_config(options.overrides, root=stage, config_dirs=(), command="bench")
    with open_ground(trying(config), stage, (), cancellation) as ground:
        made = certify(ground, ground.tasks, 2, cancellation, lambda _line: None)
        if not made.certified:
            raise SuiteError(
                f"its task is not certified: {made.tasks[0].problems[0]}" if made.tasks else "stopped"
            )
        write_certificate(ground.suite, made)
    prepared = stage / "runs" / "prepared"
    files = {
        path.relative_to(stage).as_posix(): path.read_bytes()
        for path in stage.rglob("*")
        if path.is_file() and not path.is_relative_to(prepared)
    }
    manifest = suite_files(options.suite, [task.entry], "../..")["suite.yaml"]
    return files | {f"suites/{options.suite}/suite.yaml": manifest}


def _write(root: Path, files: Mapping[str, bytes]) -> None:
    """Write all files; a skill that is there stays. UserError or RunError, with nothing left, if one cannot be."""
    new = {
        path: content for path, content in files.items() if path != SKILL_PATH or not (root / path).exists()
    }
    taken = next((path for path in new if (root / path).exists()), None)
    if taken is not None:
        raise UserError(f"{root / taken} is there already\n  move it away; nothing was written")
    try:
        for path, content in new.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            write_whole(root / path, content)
    except (UserError, OSError):
        for path in new:
            _take_back(root, path)
        raise


def _take_back(root: Path, path: str) -> None:
    """Remove a file that was written, and the folders that are empty without it."""
    (root / path).unlink(missing_ok=True)
    for folder in [*Path(path).parents][:-1]:
        with suppress(OSError):
            (root / folder).rmdir()

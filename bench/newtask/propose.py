"""Makes a task of a commit, or says why there is none: what cannot be read off it is tried out in the sandbox."""

import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.arms import Place, check_place
from bench.cancellation import Cancellation
from bench.certificate import trying
from bench.config import SuiteConfig, load_config
from bench.environments import prepare_environments
from bench.errors import SuiteError
from bench.newtask.commit import read_blob, read_commit, read_patch
from bench.newtask.model import Asked, Commit, NewTask
from bench.newtask.reasons import outcome_refusal, refusals
from bench.newtask.writing import (
    RUNNER,
    option_file,
    plan_file,
    prompt_text,
    suite_files,
    task_id,
    verify_command,
)
from bench.sandbox import Command, ProcessResult, ReadOnly, Writable
from bench.scoring import is_test
from bench.suite import Task, load_suite
from bench.sweep import Ground, open_ground
from bench.workspace import remove_tree

_MOST_VISIBLE = 40
_PYTEST = re.compile(rb"^\s*(import|from) pytest\b|^(async )?def test", re.MULTILINE)


class Seen(Struct, frozen=True):
    """Which tests passed and which failed in one run of them."""

    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


def propose(
    asked: Asked, overrides: Sequence[str], cancellation: Cancellation, say: Callable[[str], None]
) -> NewTask:
    """The task that a commit makes. SuiteError with the reason if it makes none; nothing is written but below a
    folder that is gone afterwards.
    """
    commit = read_commit(asked.repository, asked.sha)
    against = static_refusals(asked, commit)
    if against:
        raise refused(commit, against)
    draft = _draft(asked, commit, ())
    with tempfile.TemporaryDirectory(prefix="new-task-") as folder:
        root = write_project(Path(folder), asked.suite, [draft], str(asked.repository))
        prepare_project(root, asked, say)
        config, _ = load_config(
            [f"suite={asked.suite}", *overrides], root=root, config_dirs=(), command="bench"
        )
        with open_ground(trying(config), root, (), cancellation) as ground:
            return _tried(ground, asked, commit, draft, cancellation)


def static_refusals(asked: Asked, commit: Commit) -> tuple[str, ...]:
    """Why a commit makes no task, as far as nothing has to be run for it."""
    against = refusals(commit, one_purpose=asked.one_purpose)
    lacks = b"pytest" not in (asked.requirements or b"")
    if not against and lacks and _needs_pytest(_tests(asked, commit)):
        return (
            "its tests need pytest: name a file of pinned requirements that has it (--requirements FILE)",
        )
    return against


def prepare_project(root: Path, asked: Asked, say: Callable[[str], None]) -> None:
    """Install what the tasks of a project of `write_project` need, where they need anything."""
    if asked.requirements is None:
        return
    suite = load_suite(SuiteConfig(name=asked.suite, path=f"suites/{asked.suite}"), root)
    prepare_environments(root, suite.tasks, contained=True, index=None, progress=say)


def refused(commit: Commit, reasons: Sequence[str]) -> SuiteError:
    """The error that says why a commit makes no task."""
    listed = "".join(f"\n  {each}" for each in reasons)
    return SuiteError(f"commit {commit.sha[:12]} ({commit.subject[:80]}) makes no task:{listed}")


def write_project(root: Path, suite: str, tasks: Sequence[NewTask], repository: str) -> Path:
    """A project in `root` with a suite of these tasks; its root."""
    files = dict(suite_files(suite, [task.entry for task in tasks], repository))
    for task in tasks:
        files |= task.files
    written = {f"suites/{suite}/{path}": content for path, content in files.items()}
    written |= {"evolve.toml": b"", f"conf/suite/{suite}.yaml": option_file(suite)}
    for path, content in written.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def _tried(
    ground: Ground, asked: Asked, commit: Commit, draft: NewTask, cancellation: Cancellation
) -> NewTask:
    """The task, once its tests ran with and without the change, and the visible ones on what there was before."""
    (task,) = ground.tasks
    if task.verify:
        done = _run(ground, task, draft.files, task.verify, cancellation)
        if not done.succeeded:
            said = (done.stdout.text() + done.stderr.text()).strip()[-600:]
            raise refused(
                commit, [f"what was before it does not pass its own tests, here in the sandbox:\n{said}"]
            )
    run = f'exec python3 -I -B "$ORACLE/{RUNNER}" --observe'
    before = _seen(_run(ground, task, draft.files, run, cancellation))
    after = _seen(_run(ground, task, draft.files, f'git apply "$ORACLE/right.patch" && {run}', cancellation))
    passing = sorted(set(after.passed) - set(after.failed))
    repaired = tuple(each for each in passing if each not in before.passed or each in before.failed)
    reason = outcome_refusal(repaired, passing)
    if reason is not None:
        raise refused(commit, [reason])
    return msgspec.structs.replace(_draft(asked, commit, passing), repaired=repaired)


def _draft(asked: Asked, commit: Commit, expected: Sequence[str]) -> NewTask:
    """The task with these tests expected to pass."""
    name = asked.task or task_id(commit)
    blobs = _tests(asked, commit)
    runner = "pytest" if _needs_pytest(blobs) else "unittest"
    targets = {path: f"{number}-{Path(path).name}" for number, path in enumerate(blobs)}
    hidden = f"hidden/{name}"
    files = {
        f"prompts/{name}.md": prompt_text(commit),
        f"solutions/{name}.patch": read_patch(asked.repository, commit, commit.code),
        f"hidden/{RUNNER}": Path(__file__).with_name(RUNNER).read_bytes(),
        f"{hidden}/plan.json": plan_file(runner, targets, expected),
        **{f"{hidden}/{targets[path]}": content for path, content in blobs.items()},
    }
    if asked.requirements is not None:
        files[f"requirements/{name}.txt"] = asked.requirements
    oracle = [(f"hidden/{RUNNER}", RUNNER), (f"{hidden}/plan.json", "plan.json")]
    oracle += [(f"{hidden}/{target}", target) for target in targets.values()]
    needs = {} if asked.requirements is None else {"requirements": f"requirements/{name}.txt"}
    entry = {
        "id": name,
        "class": "investigation-bug",
        "split": "train",
        "source": {"ref": commit.parents[0]},
        "prompt": f"prompts/{name}.md",
        "environment": {"python": True, **needs},
        "verify": verify_command(runner, _visible(commit), has_src=_has_src(commit)),
        "oracle": {
            "command": f'exec python3 -I -B "$ORACLE/{RUNNER}"',
            "files": [{"source": source, "target": target} for source, target in oracle],
        },
        "solutions": {"reference": f"solutions/{name}.patch"},
        "notes": f"Made of commit {commit.sha}.",
    }
    return NewTask(task=name, commit=commit.sha, entry=entry, files=files, repaired=())


def _tests(asked: Asked, commit: Commit) -> dict[str, bytes]:
    """The tests of a commit, by their paths."""
    return {path: read_blob(asked.repository, commit.sha, path) for path in commit.tests}


def _needs_pytest(tests: Mapping[str, bytes]) -> bool:
    return any(_PYTEST.search(content) for path, content in tests.items() if path.endswith(".py"))


def _visible(commit: Commit) -> list[str]:
    """The tests that were there before: those that the commit changed, else all."""
    known = [path for path in commit.tests if path in commit.base_files]
    tests = known or sorted(path for path in commit.base_files if is_test(path))
    return [path for path in tests if path.endswith(".py") and _is_run(Path(path).name)][:_MOST_VISIBLE]


def _is_run(name: str) -> bool:
    return name.startswith("test") or name.endswith("_test.py")


def _has_src(commit: Commit) -> bool:
    return any(path.startswith("src/") for path in commit.base_files)


def _seen(result: ProcessResult) -> Seen:
    try:
        return msgspec.json.decode(result.stdout.text().encode(), type=Seen)
    except msgspec.DecodeError:
        return Seen()


def _run(
    ground: Ground, task: Task, files: Mapping[str, bytes], command: str, cancellation: Cancellation
) -> ProcessResult:
    """Run a command on the task's starting state, with the hidden test's files and the right patch at `ORACLE`."""
    folder = Path(tempfile.mkdtemp(prefix="n", dir=ground.scratch))
    for name in ("home", "output", "temporary", "oracle"):
        (folder / name).mkdir()
    for path, content in files.items():
        if path.startswith("hidden/"):
            (folder / "oracle" / os.path.basename(path)).write_bytes(content)  # noqa: PTH119
        elif path.startswith("solutions/"):
            (folder / "oracle" / "right.patch").write_bytes(content)
    try:
        template = ground.templates.build(task)
        copy = ground.workspaces.create(template, folder)
        where = Place(folder, ground.sandbox.layout(folder), copy, template)
        check = check_place(
            ground.config,
            ground.environments,
            task,
            where,
            copy.live(where.layout.workspace, writable=True),
        )
        oracle, home = (
            ReadOnly(folder / "oracle", "/oracle-new"),
            Writable(folder / "home", where.layout.home),
        )
        return ground.sandbox.run(
            Command(
                argv=("/bin/sh", "-c", command),
                directory=check.layout.directory(check.copy),
                environment={**check.environment, "HOME": where.layout.home, "ORACLE": "/oracle-new"},
                stdin=b"none\n",
                mounts=(check.copy, home, *check.mounts, oracle),
                seconds=check.seconds,
                limits=check.limits,
            ),
            cancellation,
        )
    finally:
        remove_tree(folder)

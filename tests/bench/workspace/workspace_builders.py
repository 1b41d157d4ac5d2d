"""Repositories, tasks and sessions for the tests of working copies: real git, a real sandbox."""

import base64
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bench.cancellation import Cancellation
from bench.config import LimitsConfig, SandboxConfig
from bench.sandbox import (
    Captured,
    Command,
    End,
    Mount,
    ProcessResult,
    ReadOnly,
    Sandbox,
    open_sandbox,
    python_mounts,
)
from bench.suite import LabelOracle, RepositorySource, Source, Task, TreeSource
from bench.workspace import Template, Templates, WorkingCopy

SECRET = b"the-secret-that-nobody-may-find"
State = dict[bytes, tuple[str, bytes]]

_IDENTITY = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.invalid")
_LOCAL = ("-c", "protocol.file.allow=always", "-c", "init.defaultBranch=trunk")


def git(folder: Path, *arguments: str | bytes, stdin: bytes = b"") -> bytes:
    """Git as its user runs it, with that user's identity."""
    command: list[str | bytes] = ["git", "-C", str(folder), *_IDENTITY, *_LOCAL, *arguments]
    finished = subprocess.run(command, input=stdin, capture_output=True, check=False)
    assert finished.returncode == 0, (arguments, finished.stderr)
    return finished.stdout


def text(output: bytes) -> str:
    return output.decode().strip()


def write_files(folder: Path, files: Mapping[bytes, bytes]) -> None:
    for path, content in files.items():
        place = folder / os.fsdecode(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def make_repository(folder: Path, files: Mapping[bytes, bytes], *options: str) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", *options)
    write_files(folder, files)
    commit_all(folder)
    return folder


def commit_all(repository: Path) -> str:
    git(repository, "add", "--all", "--force")
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "work")
    return head(repository)


def commit_exactly(repository: Path) -> str:
    """Commit what lies there byte for byte, whatever conversions its attributes ask for."""
    modes = {"file": "100644", "program": "100755", "link": "120000"}
    git(repository, "read-tree", "--empty")
    records = b""
    for path, (kind, content) in state_of(repository).items():
        blob = text(git(repository, "hash-object", "-w", "--stdin", stdin=content))
        records += f"{modes[kind]} {blob}\t".encode() + path + b"\0"
    git(repository, "update-index", "--add", "-z", "--index-info", stdin=records)
    git(repository, "commit", "--quiet", "--message", "exactly this")
    return head(repository)


def head(repository: Path) -> str:
    return text(git(repository, "rev-parse", "HEAD"))


def committed(repository: Path, commit: str | None = None) -> RepositorySource:
    return RepositorySource(repository, "HEAD", commit or head(repository))


def plain(folder: Path, digest: str = "digest-of-the-folder") -> TreeSource:
    return TreeSource(folder, digest)


def make_task(source: Source, **fields: Any) -> Task:
    task = Task(
        id="a-task",
        class_="trivial",
        split="train",
        source=source,
        change=None,
        prompt="Do it.",
        setup="",
        verify="",
        oracle=LabelOracle((), "none"),
    )
    return msgspec.structs.replace(task, **fields)


def build(folder: Path, source: Source, excluded: tuple[str, ...] = (), **fields: Any) -> Template:
    return Templates(folder / "templates", run_on_host).build(make_task(source, **fields), excluded)


def run_on_host(task: Task, tree: Path) -> ProcessResult:
    """Runs a setup command, as the sandbox would."""
    done = subprocess.run(["/bin/sh", "-c", task.setup], cwd=tree, capture_output=True, check=False)
    return ProcessResult(
        end=End.EXITED,
        code=done.returncode,
        detail="",
        stdout=Captured(done.stdout, b"", len(done.stdout)),
        stderr=Captured(done.stderr, b"", len(done.stderr)),
        seconds=0.0,
    )


def state_of(tree: Path) -> State:
    """Every file and link of a tree but the `.git` at its root, as git would record it."""
    found: State = {}
    root = os.fsencode(tree)
    for folder, folders, files in os.walk(root):
        if folder == root:
            folders[:] = [name for name in folders if name != b".git"]
        for name in files + [each for each in folders if os.path.islink(os.path.join(folder, each))]:
            place = os.path.join(folder, name)
            found[os.path.relpath(place, root)] = _described(place)
    return found


def _described(place: bytes) -> tuple[str, bytes]:
    status = os.lstat(place)
    if stat.S_ISLNK(status.st_mode):
        return "link", os.readlink(place)
    with open(place, "rb") as stream:
        return "program" if status.st_mode & stat.S_IXUSR else "file", stream.read()


def everything_readable(template: Template) -> bytes:
    """Each file below a template, as it lies there, and each object of its repository, unpacked."""
    files = [path.read_bytes() for path in sorted(template.tree.rglob("*")) if path.is_file()]
    names = [str(path) for path in sorted(template.tree.rglob("*"))]
    objects = git(template.tree, "cat-file", "--batch-all-objects", "--batch")
    return b"\n".join([*files, *map(os.fsencode, names), objects])


def open_backend(name: str, scratch: Path) -> Sandbox:
    limits = LimitsConfig(memory_mb=None, processes=None, file_mb=None, open_files=None)
    configuration = SandboxConfig(
        name=name, workspace="auto", scratch=str(scratch), limits=limits, accept_no_containment=False
    )
    return open_sandbox(configuration)


class Session:
    """Commands in the real sandbox, in a working copy, as an agent or a check runs them."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._python, self._interpreter = python_mounts()

    def shell(self, copy: WorkingCopy, script: str) -> ProcessResult:
        return self.run(copy.live("/workspace", writable=True), "/bin/sh", "-c", script)

    def act(self, copy: WorkingCopy, operations: Iterable[tuple[Any, ...]]) -> None:
        """Carry out operations of `act.py` in the copy."""
        encoded = json.dumps([[_encoded(part) for part in operation] for operation in operations]).encode()
        script = Path(__file__).with_name("workspace_act.py")
        result = self.run(
            copy.live("/workspace", writable=True),
            self._python,
            "-I",
            "-S",
            "/act.py",
            script=script,
            stdin=encoded,
        )
        assert result.succeeded, result.stderr.text()

    def run(self, mount: Mount, *argv: str, script: Path | None = None, stdin: bytes = b"") -> ProcessResult:
        extra = (ReadOnly(script, "/act.py"),) if script else ()
        command = Command(
            argv=argv,
            directory="/workspace",
            environment={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            mounts=(*self._interpreter, mount, *extra),
            seconds=60.0,
            stdin=stdin,
        )
        with Cancellation() as cancellation:
            return self._sandbox.run(command, cancellation)


def _encoded(part: Any) -> Any:
    return base64.b64encode(part).decode() if isinstance(part, bytes) else part


def as_ordinary_user(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in `folder` without the powers of root: what its owner closed is closed to it as well.
    One power stays, without which nobody may map the number 0 into a namespace.
    """
    powerless = ["setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all"] if os.geteuid() == 0 else []
    return subprocess.run(
        [*powerless, sys.executable, "-c", program, *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(Path(__file__).parents[3]), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )

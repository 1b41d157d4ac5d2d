"""A cell as the conformance suite uses it: folders, their mounts, and commands run in them."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from bench.cancellation import Cancellation
from bench.config import LimitsConfig, SandboxConfig
from bench.sandbox import (
    BUBBLEWRAP,
    HOST,
    Command,
    Mount,
    ProcessResult,
    ReadOnly,
    Sandbox,
    SandboxFactory,
    Writable,
    python_mounts,
)

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def configuration(name: str, scratch: Path, **options: Any) -> SandboxConfig:
    return SandboxConfig(
        name=name,
        workspace="auto",
        scratch=str(scratch),
        limits=LimitsConfig(memory_mb=None, processes=None, file_mb=None, open_files=None),
        accept_no_containment=False,
        options=options,
    )


def sandbox(name: str, scratch: Path, **options: Any) -> Sandbox:
    factories: dict[str, SandboxFactory] = {"bubblewrap": BUBBLEWRAP, "host": HOST}
    return factories[name].create(configuration(name, scratch, **options))


class Cell:
    """A cell folder in one backend."""

    def __init__(self, backend: Sandbox, folder: Path) -> None:
        self.sandbox = backend
        self.folder = folder
        self.layout = backend.layout(folder)
        for name in ("workspace", "home", "temporary", "output"):
            (folder / name).mkdir(parents=True)
        self.python, interpreter = python_mounts() if backend.contains else (sys.executable, ())
        self.mounts: tuple[Mount, ...] = (
            *interpreter,
            Writable(folder / "workspace", self.layout.workspace),
            Writable(folder / "home", self.layout.home),
            Writable(folder / "output", self.layout.output),
        )

    def run(
        self,
        *argv: str,
        cancellation: Cancellation | None = None,
        observe: Callable[[bytes], None] | None = None,
        mounts: tuple[Mount, ...] = (),
        **changes: Any,
    ) -> ProcessResult:
        command = Command(
            argv=argv,
            directory=self.layout.workspace,
            environment=ENVIRONMENT,
            mounts=(*self.mounts, *mounts),
            seconds=60.0,
        )
        command = msgspec.structs.replace(command, **changes)
        if cancellation is not None:
            return self.sandbox.run(command, cancellation, observe)
        with Cancellation() as fresh:
            return self.sandbox.run(command, fresh, observe)

    def shell(self, script: str, *arguments: str, **changes: Any) -> ProcessResult:
        return self.run("/bin/sh", "-c", script, "sh", *arguments, **changes)

    def script(self, source: str, *arguments: str, **changes: Any) -> ProcessResult:
        return self.run(self.python, "-I", "-S", "-c", source, *arguments, **changes)


def shown(result: ProcessResult) -> bytes:
    """All of a short stdout, of a command that succeeded."""
    assert result.succeeded, (result.end, result.detail, result.stderr.text())
    return result.stdout.head + result.stdout.tail


def running(token: str) -> list[int]:
    """The processes of this host, confined or not, that have `token` among their arguments."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if token.encode() in arguments:
            found.append(int(folder.name))
    return found


def read_only(source: Path, target: str) -> tuple[Mount, ...]:
    return (ReadOnly(source, target),)

"""What the rest of the harness knows of a sandbox: one command in, one typed result out."""

import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from bench.cancellation import Cancellation
from bench.config import SandboxConfig
from bench.measured import ProcessResult


class ReadOnly(Struct, frozen=True, tag="read-only"):
    """`source` of the host, seen at `target`, not writable."""

    source: Path
    target: str


class Writable(Struct, frozen=True, tag="writable"):
    """`source` of the host, seen at `target`, writable."""

    source: Path
    target: str


class Layered(Struct, frozen=True, tag="layered"):
    """Folders stacked at `target`, lowest first. What is written goes to `upper`, or is thrown away when it is
    None and `throwaway`, or is refused. `work` is overlayfs's scratch folder beside `upper`.
    """

    lower: tuple[Path, ...]
    target: str
    upper: Path | None = None
    work: Path | None = None
    throwaway: bool = False


class Hidden(Struct, frozen=True, tag="hidden"):
    """An empty folder over `target`, not writable: what an earlier mount shows there is not seen."""

    target: str


# Made in the order given: a later mount lies over an earlier one.
Mount = ReadOnly | Writable | Layered | Hidden


class Limits(Struct, frozen=True):
    """What a command's whole process tree may use; None is no limit. Sizes are bytes."""

    memory: int | None = None
    processes: int | None = None
    file_size: int | None = None
    open_files: int | None = None


class Command(Struct, frozen=True, kw_only=True):
    """One command to confine. It gets `environment`, PWD and nothing else. `seconds` is its wall-clock limit;
    `keep` how many bytes of the head and of the tail of each output stream are kept; `most_output` how many
    both streams together may hold before it is stopped. `inherit` are descriptors of ours that it keeps; `stop` is
    the signal that asks it to end, a moment before it is killed.
    """

    argv: tuple[str, ...]
    directory: str
    environment: Mapping[str, str]
    mounts: tuple[Mount, ...]
    seconds: float
    stdin: bytes = b""
    limits: Limits = Limits()
    keep: int = 32 * 1024
    most_output: int = 64 * 1024 * 1024
    inherit: tuple[int, ...] = ()
    stop: signal.Signals = signal.SIGTERM


class Layout(Struct, frozen=True):
    """Where things are, as the confined command sees them."""

    workspace: str
    home: str
    temporary: str
    output: str

    contained: bool = True

    def seen(self, source: Path, target: str) -> str:
        """The path of a mounted host file inside: `target`, or the host's own path where nothing is mounted."""
        return target if self.contained else str(source)

    def directory(self, mount: Mount) -> str:
        """Where a command finds what `mount` mounts."""
        return (
            self.seen(mount.source, mount.target) if isinstance(mount, ReadOnly | Writable) else mount.target
        )


class Sandbox(Protocol):
    """Confines commands. A backend passes the conformance suite of tests/bench/sandbox."""

    name: str
    contains: bool

    def describe(self) -> Mapping[str, str]:
        """Version and policy, as they enter a row's provenance."""
        ...

    def probe(self) -> None:
        """Start a real command with the flags in use; SandboxUnavailable says which setting to change."""
        ...

    def can_layer(self, folder: Path) -> bool:
        """Whether `Layered` mounts with an upper folder work below `folder`, tried there."""
        ...

    def layout(self, cell: Path) -> Layout:
        """Where the parts of the cell folder `cell` (workspace, home, temporary, output) are seen inside."""
        ...

    def run(
        self,
        command: Command,
        cancellation: Cancellation,
        observe: Callable[[bytes], None] | None = None,
    ) -> ProcessResult:
        """Run to the end, kill the whole tree, and return. `observe` gets stdout's bytes as they arrive; an
        exception that it raises stops the command and is raised again. SandboxError if confining failed.
        """
        ...


class SandboxFactory(Protocol):
    """What an entry point of `incumbent.sandboxes` names: a schema for `options` and a way to make the sandbox."""

    options_schema: Mapping[str, Any]

    def create(self, config: SandboxConfig) -> Sandbox:
        """The sandbox as configured; SandboxUnavailable says what is missing and how to get it."""
        ...

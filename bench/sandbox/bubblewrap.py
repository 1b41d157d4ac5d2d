"""Confinement by Linux namespaces, through bubblewrap."""

import os
import platform
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from bench.cancellation import Cancellation
from bench.digest import digest_json
from bench.errors import SandboxError, SandboxUnavailable
from bench.measured import End, ProcessResult
from bench.sandbox.descriptors import Descriptors, zero_ended
from bench.sandbox.devices import device_modes, restore_modes
from bench.sandbox.diagnosis import WITHOUT, explain_failure, in_container, kernel_settings
from bench.sandbox.layers import layers_work
from bench.sandbox.limits import Confinement, Limiter, host_limiter
from bench.sandbox.masks import hidden_paths
from bench.sandbox.mounts import (
    FILES,
    NAMESPACES,
    SEALS,
    SHOWN,
    mask_options,
    mount_options,
    private_options,
    system_options,
    system_trees,
)
from bench.sandbox.namespace import Namespace
from bench.sandbox.outcome import result_of
from bench.sandbox.process import NOTHING, Finished, Launch, run_process
from bench.sandbox.protocol import Command, Layout
from bench.sandbox.seccomp import system_call_filter

_TEMPORARY = "/tmp"  # noqa: S108 - inside
_LAYOUT = Layout(workspace="/workspace", home="/home/agent", temporary=_TEMPORARY, output="/output")
_NEEDED_PROCESSES = 1  # bubblewrap's own, the first inside
_TRIAL = Command(
    argv=("/bin/sh", "-c", "exit 0"),
    directory=_TEMPORARY,
    environment={},
    mounts=(),
    seconds=20.0,
)

# What bubblewrap prints, before anything of the command runs, when the command is at fault and not the sandbox.
_COMMAND_FAULTS = ("bwrap: execvp ", "bwrap: Can't chdir to ")


class Bubblewrap:
    """The sandbox `bubblewrap`. `program` is its executable, used where it lies."""

    name = "bubblewrap"
    contains = True

    def __init__(self, program: str) -> None:
        self._program = program

    def describe(self) -> Mapping[str, str]:
        """The version of bubblewrap, and a digest of everything that the sandbox does but paths of this host."""
        return {"backend": self.name, "version": self._version, "policy": _policy()}

    def describe_limits(self) -> str:
        """What enforces limits here, for people."""
        return self._limiter.describe()

    def probe(self) -> None:
        """Run a command; SandboxUnavailable says which setting to change."""
        try:
            with Cancellation() as cancellation:
                result = self.run(_TRIAL, cancellation)
        except SandboxError as error:
            message = explain_failure(str(error), kernel_settings(), container=in_container())
            raise SandboxUnavailable(message) from error
        if not result.succeeded:
            message = f"a trial command did not succeed in bubblewrap: {result.detail} {result.stderr.text()}"
            raise SandboxUnavailable(f"{message.strip()}\n{WITHOUT}")

    def can_layer(self, folder: Path) -> bool:
        """Whether overlays work below `folder`, deletions included. What a killed trial leaves is the folder's."""
        try:
            with tempfile.TemporaryDirectory(dir=folder, prefix="layers-") as place:
                return layers_work(self, Path(place))
        except (OSError, SandboxError):
            return False

    def layout(self, cell: Path) -> Layout:  # noqa: ARG002 - the same for every cell
        """The parts of a cell have fixed places inside."""
        return _LAYOUT

    def run(
        self,
        command: Command,
        cancellation: Cancellation,
        observe: Callable[[bytes], None] | None = None,
    ) -> ProcessResult:
        """Run a command in namespaces of its own, which are gone when this returns."""
        with (
            self._limiter.begin(command.limits, spare=_NEEDED_PROCESSES) as confinement,
            Descriptors() as descriptors,
            closing(Namespace(descriptors, command.stop)) as namespace,
        ):
            launch = self._launch(command, descriptors, namespace)
            modes = self._devices
            try:
                finished = run_process(launch, _adopt(namespace, confinement), cancellation, observe)
            finally:
                changed = restore_modes(modes)
            result = confinement.explain(_result(finished, namespace.exit_code()))
        if changed:
            detail = (
                f"{result.detail}; changed the mode of {', '.join(changed)} of the host, which was restored"
            )
            return replace(result, detail=detail.removeprefix("; "))
        return result

    @cached_property
    def _limiter(self) -> Limiter:
        return host_limiter(root=os.geteuid() == 0, own_users=True)

    @cached_property
    def _devices(self) -> Mapping[Path, int]:
        return device_modes()

    @cached_property
    def _version(self) -> str:
        shown = subprocess.run(
            (self._program, "--version"), env={}, capture_output=True, text=True, check=False
        )
        return shown.stdout.strip().removeprefix("bubblewrap ")

    @cached_property
    def _system(self) -> tuple[list[str], tuple[Path, ...]]:
        """The options that are the same for every command, and what of the system is hidden from it."""
        return system_options(), hidden_paths(system_trees())

    def _launch(self, command: Command, descriptors: Descriptors, namespace: Namespace) -> Launch:
        """How to start bubblewrap. Its options go through a descriptor and its environment is empty, because both
        can be read inside, as those of process 1.
        """
        content = zero_ended(self._options(command, descriptors, namespace))
        return Launch(
            argv=("bwrap", "--args", str(descriptors.content(content)), "--", *command.argv),
            program=self._program,
            environment={},
            directory="/",
            seconds=command.seconds,
            keep=command.keep,
            most_output=command.most_output,
            stdin=command.stdin,
            inherit=(*descriptors.handed, *command.inherit),
        )

    def _options(self, command: Command, descriptors: Descriptors, namespace: Namespace) -> list[str]:
        """All options of one command."""
        system, hidden = self._system
        files = [
            option
            for path, text in FILES.items()
            for option in ("--perms", "0444", "--file", str(descriptors.content(text.encode())), path)
        ]
        calls = system_call_filter(platform.machine())
        seccomp = [] if calls is None else ["--seccomp", str(descriptors.content(calls))]
        environment = [option for item in command.environment.items() for option in ("--setenv", *item)]
        return [
            *NAMESPACES,
            *system,
            *mask_options(hidden),
            *files,
            *SEALS,
            *private_options(command.limits.memory),
            *mount_options(command.mounts),
            *("--remount-ro", "/"),
            *seccomp,
            "--clearenv",
            *environment,
            *("--chdir", command.directory),
            *("--json-status-fd", str(namespace.status_end)),
            *("--block-fd", str(namespace.gate_end)),
        ]


def _adopt(namespace: Namespace, confinement: Confinement) -> Callable[[int], Namespace]:
    """What makes a started bubblewrap ours: its inside under the limits before the command is started."""

    def adopt(pid: int) -> Namespace:
        try:
            namespace.enter(pid, confinement.admit)
        except BaseException:
            namespace.kill()
            raise
        return namespace

    return adopt


def _result(finished: Finished, code: int | None) -> ProcessResult:
    """The command's result, where `code` is what bubblewrap reported of it. SandboxError if bubblewrap failed."""
    finished = replace(finished, peak_memory=None)  # bubblewrap's own
    if finished.end is End.SPAWN_FAILED:
        raise SandboxError(finished.detail)
    if finished.status is None:
        return result_of(finished)
    if code is not None:
        return result_of(finished, code)
    if finished.status < 0:
        return result_of(finished, finished.status)
    said = finished.stderr.text().strip()
    if said.startswith(_COMMAND_FAULTS):
        detail = f"cannot start: {said.removeprefix('bwrap: ')}"
        return result_of(replace(finished, end=End.SPAWN_FAILED, status=None, detail=detail, stderr=NOTHING))
    raise SandboxError(said.removeprefix("bwrap: ") or f"bubblewrap ended with {finished.status}")


def _policy() -> str:
    """A digest of the rules that hold for every command, whatever the paths of this host."""
    calls = system_call_filter(platform.machine())
    rules = {
        "namespaces": NAMESPACES,
        "files": FILES,
        "shown": SHOWN,
        "seals": SEALS,
        "private": private_options(None),
        "calls": calls.hex() if calls else None,
    }
    return digest_json(rules)

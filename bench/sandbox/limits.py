"""Limits of a command's process tree: by control group where one can be made, else by resource limits."""

import resource
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from bench.errors import SandboxError
from bench.measured import End, ProcessResult
from bench.sandbox.cgroups import CONTROLLERS, Controller, Group, Place, host_places
from bench.sandbox.protocol import Limits

_MEGABYTE = 1024 * 1024


class Limiter:
    """Puts commands under limits, in the way that works on this host. `own_users` says that the commands run in a
    user namespace of their own, in which the kernel counts their processes apart from everything else.
    """

    def __init__(self, places: tuple[Place, ...], *, root: bool, own_users: bool) -> None:
        self._places = places
        self._controllers = frozenset(name for place in places for name in place.controllers)
        self._count_by_user = own_users and not root  # the kernel exempts root

    def begin(self, limits: Limits, *, spare: int = 0) -> "Confinement":
        """The limits of one command, whose sandbox itself needs `spare` processes. SandboxError if refused."""
        processes = None if limits.processes is None else limits.processes + spare
        try:
            group = Group.make(self._places, limits.memory, processes)
        except OSError as error:
            raise SandboxError(f"no control group could be made: {error}") from error
        return Confinement(group, self._resource_limits(limits, processes), limits)

    def describe(self) -> str:
        """What enforces limits here, for people: `memory and pids by control group`, …"""
        ways = [f"{name} by {self._way(name)}" for name in CONTROLLERS]
        return ", ".join([*ways, "file size and open files by resource limits"])

    def enforces(self, name: Controller) -> bool:
        """Whether memory, or the number of processes, can be limited at all."""
        return name in self._controllers or name == "memory" or self._count_by_user

    def _way(self, name: Controller) -> str:
        if name in self._controllers:
            return "control group"
        return "resource limit of each process" if self.enforces(name) else "nothing"

    def _resource_limits(self, limits: Limits, processes: int | None) -> dict[int, int]:
        """The limits that each process of the command gets."""
        wanted = {
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_FSIZE: limits.file_size,
            resource.RLIMIT_NOFILE: limits.open_files,
            resource.RLIMIT_AS: None if "memory" in self._controllers else limits.memory,
            resource.RLIMIT_NPROC: (
                processes if self._count_by_user and "pids" not in self._controllers else None
            ),
        }
        return {number: value for number, value in wanted.items() if value is not None}


class Confinement:
    """The limits of one command while it runs. Leaving it removes its control group."""

    def __init__(self, group: Group, resource_limits: dict[int, int], limits: Limits) -> None:
        self._group = group
        self._resource_limits = resource_limits
        self._limits = limits

    def admit(self, pid: int) -> None:
        """Put a process, and so all that it will start, under the limits. SandboxError if refused."""
        try:
            for number, value in self._resource_limits.items():
                _limit(pid, number, value)
            self._group.admit(pid)
        except ProcessLookupError:
            return  # it ended before
        except OSError as error:
            raise SandboxError(f"process {pid} could not be put under its limits: {error}") from error

    def members(self) -> frozenset[int]:
        """The processes under the limits, as far as a control group knows them."""
        return self._group.members()

    def explain(self, result: ProcessResult) -> ProcessResult:
        """The result with what the limits say about it: the most memory in use, and whether it was too much."""
        detail = result.detail
        if self._limits.memory is not None and self._group.ran_out_of_memory():
            limit = f"limit {self._limits.memory // _MEGABYTE} MB"
            if result.end is End.KILLED:
                detail = f"out of memory: {limit}"
            elif result.end is End.EXITED and result.code != 0:
                detail = f"{detail}; one of its processes ran out of memory: {limit}"
        peak = self._group.peak_memory()
        return replace(result, detail=detail, peak_memory=result.peak_memory if peak is None else peak)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._group.remove()


def host_limiter(*, root: bool, own_users: bool) -> Limiter:
    """The limiter of this host; makes and removes a control group to see what works."""
    return Limiter(host_places(), root=root, own_users=own_users)


def _limit(pid: int, number: int, value: int) -> None:
    """Lower a resource limit of a process; one that is lower already stays."""
    _, hard = resource.prlimit(pid, number)
    lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.prlimit(pid, number, (lowered, lowered))

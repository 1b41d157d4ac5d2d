"""Control groups: where they can be made on this host, and one per command."""

# ruff: noqa: PTH102, PTH106, PTH110 - made and removed for every command, where pathlib is a tenth of the time

import os
import secrets
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import EBUSY, ESRCH
from pathlib import Path
from typing import Literal

from msgspec import Struct

from bench.errors import SandboxError
from bench.sandbox.kernel_files import read_kernel_file, write_kernel_file

Controller = Literal["memory", "pids"]
CONTROLLERS: tuple[Controller, ...] = ("memory", "pids")

_PREFIX = "cell-"
_STALE = 60.0  # seconds; a group is joined within milliseconds of being made, and then not empty
_REMOVAL = 2.0  # seconds; a memory group stays busy for a moment after its last process


class Place(Struct, frozen=True):
    """A cgroup below which groups can be made, with the controllers that they would have."""

    folder: Path
    version: Literal[1, 2]
    controllers: tuple[Controller, ...]


class _Names(Struct, frozen=True):
    """What the files of the memory controller are called."""

    limit: str
    swap: str
    peak: str
    events: str


_MEMORY = {
    1: _Names(
        "memory.limit_in_bytes",
        "memory.memsw.limit_in_bytes",
        "memory.max_usage_in_bytes",
        "memory.oom_control",
    ),
    2: _Names("memory.max", "memory.swap.max", "memory.peak", "memory.events"),
}


class Group:
    """The control groups of one command: one, or one for each controller of version 1."""

    def __init__(self, places: tuple[Place, ...], name: str) -> None:
        self._groups = tuple((place, f"{place.folder}/{name}") for place in places)

    @classmethod
    def make(cls, places: tuple[Place, ...], memory: int | None, processes: int | None) -> "Group":
        """Groups below `places` with these limits (bytes; number). OSError if the host refuses. Processes are
        counted by themselves only where they are limited.
        """
        counting = [place for place in places if "memory" in place.controllers or processes is not None]
        group = cls(tuple(counting) or places, _PREFIX + secrets.token_hex(6))
        try:
            for place, folder in group._groups:
                os.mkdir(folder)
                if "memory" in place.controllers and memory is not None:
                    _limit_memory(folder, _MEMORY[place.version], place.version, memory)
                if "pids" in place.controllers and processes is not None:
                    write_kernel_file(f"{folder}/pids.max", processes)
        except OSError:
            group.remove()
            raise
        return group

    def admit(self, pid: int) -> None:
        """Put a process, and so all that it will start, under the limits. One that is gone already is ignored."""
        for _, folder in self._groups:
            try:
                write_kernel_file(f"{folder}/cgroup.procs", pid)
            except OSError as error:
                if error.errno != ESRCH:
                    raise

    def members(self) -> frozenset[int]:
        """The processes under the limits."""
        return frozenset(
            int(pid)
            for _, folder in self._groups
            for pid in read_kernel_file(f"{folder}/cgroup.procs").split()
        )

    def peak_memory(self) -> int | None:
        """The most memory that was in use at once (bytes), where the kernel says it."""
        for place, folder in self._groups:
            if "memory" in place.controllers:
                with suppress(FileNotFoundError):
                    return int(read_kernel_file(f"{folder}/{_MEMORY[place.version].peak}"))
        return None

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel killed a process for want of memory."""
        return any(
            _count(read_kernel_file(f"{folder}/{_MEMORY[place.version].events}"), b"oom_kill") > 0
            for place, folder in self._groups
            if "memory" in place.controllers
        )

    def remove(self) -> None:
        """Remove the groups, which have no process any more. SandboxError names one that cannot be removed."""
        for _, folder in self._groups:
            _remove(folder)


def find_places(mounts: str, memberships: str) -> tuple[Place, ...]:
    """Where groups might be made, best first: `mounts` is /proc/self/mountinfo, `memberships` /proc/self/cgroup."""
    own = dict(_membership(line) for line in memberships.splitlines())
    places = []
    for line in mounts.splitlines():
        fields, _, filesystem = line.partition(" - ")
        mount = Path(fields.split(" ")[4])
        kind, _, options = filesystem.split(" ", 2)
        if kind == "cgroup2":
            places += [Place(folder, 2, CONTROLLERS) for folder in _ancestry(mount, own.get("", "/"))]
        elif kind == "cgroup":
            for controller in CONTROLLERS:
                if controller in options.split(","):
                    folders = _ancestry(mount, own.get(controller, "/"))
                    places += [Place(folder, 1, (controller,)) for folder in folders]
    return tuple(sorted(places, key=lambda place: -place.version))


def usable_places(candidates: Iterable[Place]) -> tuple[Place, ...]:
    """The first place of each controller in which a process could be put under a limit, tried for real."""
    found: dict[Controller, Place] = {}
    for place in candidates:
        missing = tuple(controller for controller in place.controllers if controller not in found)
        if missing and missing == place.controllers and _works(place):
            _remove_stale(place.folder)
            found |= dict.fromkeys(missing, place)
    return tuple(dict.fromkeys(found.values()))


def host_places() -> tuple[Place, ...]:
    """The places of this host in which groups can be made; none where the user may not, or on other systems."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text()
        memberships = Path("/proc/self/cgroup").read_text()
    except OSError:
        return ()
    return usable_places(find_places(mounts, memberships))


def _membership(line: str) -> tuple[str, str]:
    """The controller and the path of a line of /proc/self/cgroup; the controller of version 2 is called ""."""
    _, controllers, path = line.split(":", 2)
    return controllers, path


def _ancestry(mount: Path, own: str) -> list[Path]:
    """The cgroup that we are in and those above it, as folders: limits set further out keep their force."""
    inner = mount / own.lstrip("/")
    if ".." in inner.parts or not inner.is_dir():
        return [mount]
    return [inner, *(folder for folder in inner.parents if folder.is_relative_to(mount))]


def _works(place: Place) -> bool:
    """Whether a group can be made here with all its controllers, and a process be put into it."""
    if place.version != 1 and not _delegates(place.folder):
        return False
    try:
        group = Group.make((place,), memory=1 << 28, processes=64)
        try:
            with _idle_process() as pid:
                group.admit(pid)
        finally:
            group.remove()
    except OSError:
        return False
    return True


def _delegates(folder: Path) -> bool:
    """Whether groups below this one of version 2 have the controllers."""
    try:
        return set(CONTROLLERS) <= set((folder / "cgroup.subtree_control").read_text().split())
    except OSError:
        return False


@contextmanager
def _idle_process() -> Iterator[int]:
    """A process that waits for its input to end."""
    with subprocess.Popen(("cat",), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        yield process.pid


def _limit_memory(folder: str, names: _Names, version: int, memory: int) -> None:
    """Limit memory, and allow no swap beyond it where swap is accounted for."""
    write_kernel_file(f"{folder}/{names.limit}", memory)
    if os.path.exists(f"{folder}/{names.swap}"):
        write_kernel_file(f"{folder}/{names.swap}", memory if version == 1 else 0)


def _count(content: bytes, name: bytes) -> int:
    """The number beside `name` in a file of names and numbers."""
    return next((int(line.split()[1]) for line in content.splitlines() if line.split()[0] == name), 0)


def _remove(folder: str) -> None:
    """Remove a group, again and again while the kernel still accounts for its last process."""
    deadline = time.monotonic() + _REMOVAL
    pause = 0.001
    while True:
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != EBUSY or time.monotonic() > deadline:
                raise SandboxError(
                    f"the control group {folder} cannot be removed: {error.strerror}"
                ) from error
            time.sleep(pause)
            pause *= 2
        else:
            return


def _remove_stale(folder: Path) -> None:
    """Remove empty groups that a killed run left behind; the kernel refuses to remove one that is in use."""
    for group in folder.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if time.time() - group.stat().st_mtime > _STALE:
                group.rmdir()

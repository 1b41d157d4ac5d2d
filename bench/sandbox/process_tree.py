"""The processes of an unconfined command: found by descent, session, control group and a mark in their environment."""

import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from msgspec import Struct

from bench.sandbox.kernel_files import read_kernel_file
from bench.sandbox.process import VANISH
from bench.sandbox.waiting import open_process, send, wait_ended

# Seconds. In less, no system gives out all its process numbers, so that what was started since has later ones.
_ROUND = 0.1


class Seen(Struct, frozen=True):
    """A process as /proc shows it. `born` is in clock ticks since the system started."""

    pid: int
    state: str
    parent: int
    session: int
    born: int

    @property
    def alive(self) -> bool:
        return self.state not in "ZX"


class ProcessTree:
    """Everything that the process `root`, the leader of its session, started and that still runs.

    `mark` is an environment entry that only this command's processes carry; `members` names further ones. A process
    that left the session, cleared its environment and whose parent ended escapes, unless `members` knows it.
    """

    def __init__(self, root: int, mark: bytes, members: Callable[[], frozenset[int]]) -> None:
        self._root = root
        self._mark = mark
        self._members = members
        self._began = time.monotonic()

    def ask(self) -> None:
        """Send SIGTERM to the command's process group."""
        with suppress(ProcessLookupError):
            os.killpg(self._root, signal.SIGTERM)

    def kill(self) -> None:
        """Kill until nothing is left: a process may have started another one while it was looked for."""
        deadline = time.monotonic() + VANISH
        while (left := deadline - time.monotonic()) > 0 and self._kill_once(left):
            pass

    def alive(self) -> frozenset[int]:
        """The processes of the tree that have not ended."""
        seen = self._seen()
        born = seen[self._root].born if self._root in seen else 0
        members = self._members()
        found = {
            process.pid
            for process in seen.values()
            if process.pid in members or process.session == self._root or self._descends(process, seen)
        }
        marked = {
            process.pid
            for process in seen.values()
            if process.pid not in found and process.born >= born and self._marked(process.pid)
        }
        return frozenset(pid for pid in found | marked if seen[pid].alive)

    def _kill_once(self, seconds: float) -> bool:
        """Kill those that are alive and wait for their end; whether there were any."""
        handles = {pid: handle for pid in self.alive() if (handle := open_process(pid)) is not None}
        if not handles:
            return False
        try:
            # The handle holds the process fast; looking again makes sure that it is the one that was meant.
            for pid in self.alive() & handles.keys():
                send(handles[pid], signal.SIGKILL)
            wait_ended(handles.values(), seconds)
        finally:
            for handle in handles.values():
                os.close(handle)
        return True

    def _seen(self) -> dict[int, Seen]:
        """The processes of which some may belong to the tree: all, but for a short while only later ones."""
        young = time.monotonic() - self._began < _ROUND
        return later(self._root) if young else _everything()

    def _descends(self, process: Seen, seen: dict[int, Seen]) -> bool:
        """Whether the root is the process itself or above it."""
        current: Seen | None = process
        while current is not None and current.pid != self._root:
            current = seen.get(current.parent)
        return current is not None

    def _marked(self, pid: int) -> bool:
        """Whether the process carries the mark; one of another user or that is gone does not."""
        try:
            return self._mark in read_kernel_file(f"/proc/{pid}/environ").split(b"\0")
        except OSError:
            return False


def later(root: int) -> dict[int, Seen]:
    """The process `root` and those that were started after it, and threads of theirs."""
    seen: dict[int, Seen] = {}
    first = root
    while first <= (last := _last_number()):  # again, as one may have started another while it was looked for
        seen |= _look_at(range(first, last + 1))
        first = last + 1
    return seen if first == last + 1 else _everything()  # the numbers began again from the lowest


def _everything() -> dict[int, Seen]:
    """All processes that there are."""
    return _look_at(int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit())


def _look_at(pids: Iterable[int]) -> dict[int, Seen]:
    """Those of these processes that there are."""
    seen = {}
    for pid in pids:
        with suppress(OSError):
            seen[pid] = parse_status(pid, read_kernel_file(f"/proc/{pid}/stat").decode(errors="replace"))
    return seen


def _last_number() -> int:
    """The number that was given to a process last."""
    return int(read_kernel_file("/proc/loadavg").split()[-1])


def parse_status(pid: int, stat: str) -> Seen:
    """A process from its /proc/PID/stat. The name, in brackets, may hold anything; fields count from behind it."""
    fields = stat.rpartition(")")[2].split()
    return Seen(pid=pid, state=fields[0], parent=int(fields[1]), session=int(fields[3]), born=int(fields[19]))

"""The processes below one bubblewrap: a pid namespace, which ends with its first process."""

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec
from msgspec import Struct

from bench.errors import SandboxError
from bench.sandbox.descriptors import Descriptors
from bench.sandbox.process import VANISH
from bench.sandbox.waiting import open_process, send, wait_ended

_STARTUP = 5.0  # seconds until bubblewrap must have said which process is the first inside


class Status(Struct, frozen=True, rename="kebab"):
    """A line of `bwrap --json-status-fd`. It states an exit code only if the command was started."""

    child_pid: int | None = None
    exit_code: int | None = None


class Namespace:
    """The tree of one bubblewrap process. It waits, with nothing of the command started, until `enter`."""

    def __init__(self, descriptors: Descriptors, stop: signal.Signals = signal.SIGTERM) -> None:
        self._stop = stop
        self._status, self.status_end = descriptors.from_child()
        self._gate, self.gate_end = descriptors.to_child()
        self._descriptors = descriptors
        self._lines = b""
        self._outer: int | None = None
        self._first: int | None = None
        self._first_pid: int | None = None

    def enter(self, pid: int, admit: Callable[[int], None]) -> None:
        """Take over the bubblewrap process `pid`: hand its first inner process to `admit`, then let it go on.
        SandboxError if it says nothing, and so could run without limits.
        """
        self._descriptors.release()
        self._outer = open_process(pid)
        self._read_first_line()
        self._first_pid = self._said().child_pid
        if self._first_pid is not None:
            self._first = open_process(self._first_pid)
            admit(self._first_pid)
        self._descriptors.send(self._gate, b"x")

    def ask(self) -> None:
        """Send the stop signal to the command's group; its first process, whose group it is, ignores that from outside."""
        if self._first_pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._first_pid, self._stop)

    def kill(self) -> None:
        """Kill the first process, and with it the namespace; bubblewrap then reaps it and ends by itself."""
        if self._first is not None:
            send(self._first, signal.SIGKILL)
            wait_ended((self._first,), VANISH)
        if self._outer is not None and not (
            self._first is not None and wait_ended((self._outer,), VANISH / 2)
        ):
            send(self._outer, signal.SIGKILL)

    def exit_code(self) -> int | None:
        """The command's exit code, once all has ended; None if it was not started or did not end by itself."""
        with suppress(BlockingIOError):
            os.set_blocking(self._status, False)
            while data := os.read(self._status, 4096):
                self._lines += data
        return self._said().exit_code

    def close(self) -> None:
        """Release the handles, and reap the first process if it was orphaned to us: to process 1 of a container."""
        if self._first_pid is not None:
            with suppress(ChildProcessError):
                os.waitpid(self._first_pid, os.WNOHANG)
        for handle in (self._first, self._outer):
            if handle is not None:
                os.close(handle)

    def _read_first_line(self) -> None:
        """Wait until bubblewrap has said its first line, or has ended."""
        deadline = time.monotonic() + _STARTUP
        waiting = select.poll()
        waiting.register(self._status, select.POLLIN)
        while b"\n" not in self._lines:
            if not waiting.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise SandboxError(f"bubblewrap did not start within {_STARTUP:g} s")
            data = os.read(self._status, 4096)
            if not data:
                return
            self._lines += data

    def _said(self) -> Status:
        """What bubblewrap said so far."""
        complete = self._lines[: self._lines.rfind(b"\n") + 1].splitlines()
        lines = [msgspec.json.decode(line, type=Status) for line in complete]
        return Status(
            child_pid=next((line.child_pid for line in lines if line.child_pid is not None), None),
            exit_code=next((line.exit_code for line in lines if line.exit_code is not None), None),
        )

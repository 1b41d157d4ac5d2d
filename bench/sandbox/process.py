"""One host process, run to its end: a single wait for its output, its exit, its deadline and a cancellation."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import IO, Protocol, Self, cast

from msgspec import Struct

from bench.cancellation import Cancellation
from bench.errors import SandboxError
from bench.measured import Captured, End
from bench.sandbox.capture import Capture
from bench.sandbox.waiting import wait_ended

# Seconds. Together they bound how long a command that ignores everything outlives its deadline: less than 3.
GRACE = 1.0  # from asking a command to end to killing it
VANISH = 0.8  # for a killed process to be gone
DRAIN = 0.5  # for the pipes to close after that

NOTHING = Captured(head=b"", tail=b"", size=0)

_CHUNK = 64 * 1024
_LONGEST_WAIT = 3600.0


class Launch(Struct, frozen=True, kw_only=True):
    """A host process to start. `program` is what is executed where `argv[0]` is only a name;
    `inherit` the descriptors that it keeps; the rest is as in `Command`.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    directory: str
    seconds: float
    keep: int
    most_output: int
    stdin: bytes = b""
    program: str | None = None
    inherit: tuple[int, ...] = ()


class Finished(Struct, frozen=True, kw_only=True):
    """How a host process ended. `status` is its exit code, or minus the signal that ended it; it is None where
    `end` says that it did not end by itself. `peak_memory` (bytes) is that of its largest process.
    """

    end: End
    status: int | None
    detail: str
    seconds: float
    stdout: Captured = NOTHING
    stderr: Captured = NOTHING
    peak_memory: int | None = None


class Tree(Protocol):
    """All processes of one command, as something that can be stopped."""

    def ask(self) -> None:
        """Ask the command to end."""
        ...

    def kill(self) -> None:
        """End every process there is, and return when they are gone, or after about a second."""
        ...


class _Stop(Struct, frozen=True):
    """Why a process is stopped before it ends."""

    end: End
    detail: str


def run_process(
    launch: Launch,
    own: Callable[[int], Tree],
    cancellation: Cancellation,
    observe: Callable[[bytes], None] | None = None,
) -> Finished:
    """Start a process, follow it to its end, kill what it leaves behind. `own` is told the process id at once and
    answers for its descendants. What `observe` raises is raised again; SandboxError if killing does not help.
    """
    started = time.monotonic()
    if cancellation.cancelled:
        return Finished(end=End.CANCELLED, status=None, detail=cancellation.cause or "", seconds=0.0)
    try:
        process = _spawn(launch)
    except (OSError, ValueError) as error:
        detail = f"cannot start {launch.argv[0]!r}: {_reason(error)}"
        return Finished(end=End.SPAWN_FAILED, status=None, detail=detail, seconds=time.monotonic() - started)
    with _Exchange(process, launch, observe) as exchange:
        tree = own(process.pid)
        try:
            stop = _follow(exchange, launch, cancellation, started + launch.seconds)
            if stop is not None and stop.end is not End.OVERFLOW and not cancellation.hurry:
                tree.ask()
                exchange.until_exit(GRACE)
        finally:
            tree.kill()
            exchange.drain(DRAIN)
        return exchange.finish(stop, started)


def _spawn(launch: Launch) -> subprocess.Popen[bytes]:
    """The started process, in a session of its own, so that a terminal's signals reach only us."""
    return subprocess.Popen(
        launch.argv,
        executable=launch.program,
        env=dict(launch.environment),
        cwd=launch.directory,
        stdin=subprocess.PIPE,  # never the host's /dev/null: run by root, a sandbox could change its mode
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        pass_fds=launch.inherit,
        start_new_session=True,
        umask=0o022,
    )


def _reason(error: OSError | ValueError) -> str:
    """Why the system refused to start something."""
    if isinstance(error, OSError):
        return f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror)
    return str(error)


def _follow(
    exchange: "_Exchange", launch: Launch, cancellation: Cancellation, deadline: float
) -> _Stop | None:
    """Wait until the process exits (None) or has to be stopped."""
    with exchange.woken_by(cancellation):
        while not exchange.exited:
            if cancellation.cancelled:
                return _Stop(End.CANCELLED, cancellation.cause or "")
            if exchange.size > launch.most_output:
                break
            left = deadline - time.monotonic()
            if left <= 0:
                return _Stop(End.TIMEOUT, f"still running after {launch.seconds:g} s")
            exchange.step(left)
    return exchange.overflow()


class _Exchange:
    """The pipes of a running process and its exit, waited for together."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        launch: Launch,
        observe: Callable[[bytes], None] | None,
    ) -> None:
        self._process = process
        self._most = launch.most_output
        self._observe = observe
        self._unsent = memoryview(launch.stdin)
        self._stdout, self._stderr = Capture(launch.keep), Capture(launch.keep)
        self._selector = selectors.PollSelector()  # few files, for a short while: cheaper than epoll
        self._handle = os.pidfd_open(process.pid)
        self._open = 0
        self.exited = False
        self._listen(cast("IO[bytes]", process.stdout), self._print)
        self._listen(cast("IO[bytes]", process.stderr), self._stderr.take)
        self._selector.register(self._handle, selectors.EVENT_READ, self._note_exit)
        self._stdin = cast("IO[bytes]", process.stdin)
        os.set_blocking(self._stdin.fileno(), False)
        self._selector.register(self._stdin, selectors.EVENT_WRITE, self._send)

    @property
    def size(self) -> int:
        """How many bytes were printed."""
        return self._stdout.size + self._stderr.size

    def overflow(self) -> _Stop | None:
        """The reason to stop a process that printed too much."""
        if self.size <= self._most:
            return None
        return _Stop(End.OVERFLOW, f"printed more than {self._most} bytes")

    @contextmanager
    def woken_by(self, cancellation: Cancellation) -> Iterator[None]:
        """While entered, `step` also returns when a cancellation is asked for."""
        self._selector.register(cancellation, selectors.EVENT_READ, int)
        try:
            yield
        finally:
            self._selector.unregister(cancellation)

    def step(self, seconds: float) -> None:
        """Wait for whatever happens next, and deal with it."""
        for key, _ in self._selector.select(min(seconds, _LONGEST_WAIT)):
            key.data()

    def until_exit(self, seconds: float) -> None:
        """Go on until the process exits, for a time at most."""
        deadline = time.monotonic() + seconds
        while not self.exited and (left := deadline - time.monotonic()) > 0:
            self.step(left)

    def drain(self, seconds: float) -> None:
        """Read what is left in the pipes, for a time at most: a process that escaped may hold them open."""
        self._close_stdin()
        deadline = time.monotonic() + seconds
        while self._open and (left := deadline - time.monotonic()) > 0:
            self.step(left)

    def finish(self, stop: _Stop | None, started: float) -> Finished:
        """The end of a process that exited or was killed."""
        status, peak = self._reap()
        stop = stop or self.overflow()
        return Finished(
            end=stop.end if stop else End.EXITED if status >= 0 else End.KILLED,
            status=None if stop else status,
            detail=stop.detail if stop else "",
            seconds=time.monotonic() - started,
            stdout=self._stdout.captured(),
            stderr=self._stderr.captured(),
            peak_memory=peak,
        )

    def _listen(self, pipe: IO[bytes], take: Callable[[bytes], None]) -> None:
        self._selector.register(pipe, selectors.EVENT_READ, partial(self._receive, pipe, take))
        self._open += 1

    def _receive(self, pipe: IO[bytes], take: Callable[[bytes], None]) -> None:
        data = os.read(pipe.fileno(), _CHUNK)
        if data:
            take(data)
        else:
            self._selector.unregister(pipe)
            self._open -= 1

    def _print(self, data: bytes) -> None:
        """Take stdout's bytes. An observer that raised is not called again while the rest is drained."""
        self._stdout.take(data)
        observe, self._observe = self._observe, None
        if observe is not None:
            observe(data)
            self._observe = observe

    def _send(self) -> None:
        with suppress(BlockingIOError):
            try:
                self._unsent = self._unsent[os.write(self._stdin.fileno(), self._unsent[:_CHUNK]) :]
            except BrokenPipeError:  # the command does not want the rest
                self._unsent = self._unsent[:0]
        if not self._unsent:
            self._close_stdin()

    def _close_stdin(self) -> None:
        if not self._stdin.closed:
            self._selector.unregister(self._stdin)
            self._stdin.close()

    def _note_exit(self) -> None:
        self.exited = True
        self._selector.unregister(self._handle)

    def _reap(self) -> tuple[int, int]:
        """The status, and the largest memory (bytes) of one process, of a process that is about to be gone."""
        if not wait_ended((self._handle,), VANISH):
            raise SandboxError(f"process {self._process.pid} does not end, though it was killed")
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode, usage.ru_maxrss * 1024

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave neither process nor descriptor, whatever happened."""
        if self._process.returncode is None:
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            self._reap()
        self._selector.close()
        os.close(self._handle)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

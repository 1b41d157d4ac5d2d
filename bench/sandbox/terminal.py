"""A shell for a person inside a sandbox, at a terminal of its own that is joined to the person's."""

import fcntl
import math
import os
import pty
import select
import signal
import termios
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from msgspec.structs import replace

from bench.cancellation import Cancellation
from bench.measured import ProcessResult
from bench.sandbox.protocol import Command, Sandbox

_PIECE = 64 * 1024
# setsid makes the terminal the shell's own, so that Ctrl-C reaches what the shell runs; without it the shell still works.
_SHELL = """\
exec </proc/self/fd/{0} >/proc/self/fd/{0} 2>&1
command -v setsid >/dev/null && exec setsid -c /bin/sh
exec /bin/sh
"""


def open_shell(
    sandbox: Sandbox, command: Command, terminal: int, cancellation: Cancellation
) -> ProcessResult:
    """Run /bin/sh with everything of `command` but its program and deadline, until the person leaves it.

    `terminal` is a descriptor of the person's terminal, to which both sides of the shell's are joined.
    """
    ours, inner = pty.openpty()
    try:
        shell = replace(
            command,
            argv=("/bin/sh", "-c", _SHELL.format(inner)),
            environment={**command.environment, "TERM": os.environ.get("TERM", "dumb")},
            seconds=math.inf,
            inherit=(inner,),
        )
        with _joined(terminal, ours, cancellation):
            return sandbox.run(shell, cancellation)
    finally:
        os.close(ours)
        os.close(inner)


@contextmanager
def _joined(terminal: int, ours: int, cancellation: Cancellation) -> Iterator[None]:
    """While entered, what is typed at `terminal` reaches the shell's, which is as large, and what it shows comes back."""
    os.set_blocking(ours, False)
    over = os.eventfd(0)
    relay = threading.Thread(target=_relay, args=(terminal, ours, over, cancellation), name="terminal")
    before = termios.tcgetattr(terminal)
    try:
        with _same_size(terminal, ours):
            tty.setraw(terminal)
            relay.start()
            yield
    finally:
        os.eventfd_write(over, 1)
        if relay.ident is not None:
            relay.join()
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        os.close(over)


def _relay(terminal: int, ours: int, over: int, cancellation: Cancellation) -> None:
    """Copy both ways until `over` is readable, and then what the shell's terminal still holds. A person whose
    terminal is gone does not need the shell any more.
    """
    try:
        while over not in (ready := select.select([terminal, ours, over], [], [])[0]):
            if ours in ready:
                _show(ours, terminal)
            if terminal in ready:
                _type(terminal, ours)
        while select.select([ours], [], [], 0)[0]:
            _show(ours, terminal)
    except OSError:
        cancellation.cancel(signal.SIGHUP.name)


def _show(ours: int, terminal: int) -> None:
    data = os.read(ours, _PIECE)
    while data:
        data = data[os.write(terminal, data) :]


def _type(terminal: int, ours: int) -> None:
    """Hand on what was typed; a shell that does not listen for long loses the end of it, as at any terminal."""
    data = os.read(terminal, _PIECE)
    if not data:
        raise OSError("the terminal was closed")
    with suppress(BlockingIOError):
        os.write(ours, data)


@contextmanager
def _same_size(terminal: int, ours: int) -> Iterator[None]:
    """Give the shell's terminal the size of the person's, now and whenever that changes."""

    def resize(_number: int = 0, _frame: FrameType | None = None) -> None:
        fcntl.ioctl(ours, termios.TIOCSWINSZ, fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8)))

    resize()
    before = signal.signal(signal.SIGWINCH, resize)
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)

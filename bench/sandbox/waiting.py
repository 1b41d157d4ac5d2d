"""Waiting for processes by their descriptors: no polling, and no mistaking one process for another."""

import errno
import os
import select
import signal
import time
from collections.abc import Iterable
from contextlib import suppress


def wait_ended(handles: Iterable[int], seconds: float) -> bool:
    """Whether the processes behind these pidfds have all ended, after `seconds` at the latest."""
    waiting = select.poll()
    left = 0
    for handle in handles:
        waiting.register(handle, select.POLLIN)
        left += 1
    deadline = time.monotonic() + seconds
    while left:
        ended = waiting.poll(max(0.0, deadline - time.monotonic()) * 1000)
        if not ended:
            return False
        for handle, _ in ended:
            waiting.unregister(handle)
            left -= 1
    return True


def send(handle: int, number: signal.Signals) -> None:
    """Send a signal to the process behind a pidfd, if it is still there."""
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, number)


def open_process(pid: int) -> int | None:
    """A pidfd of a process, or None if there is none, or only a thread of this number."""
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno in (errno.ESRCH, errno.EINVAL, errno.ENOENT):
            return None
        raise

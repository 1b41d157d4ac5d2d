"""Stopping, as a value that is passed on: no global flag, no signal handler outside the commands."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self


class Cancellation:
    """Told once, seen by every waiting process: `fileno()` becomes readable when the work is to stop.

    The first cause stays. `hurry` is the second request: kill without waiting.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._lock = threading.RLock()  # a signal handler may interrupt the thread that holds it
        self._cause: str | None = None
        self._hurry = False
        self._followers: list[Cancellation] = []

    def cancel(self, cause: str) -> None:
        """Ask everybody to stop; a later cause is ignored, a second call sets `hurry`."""
        for follower in tuple(self._followers):
            follower.cancel(cause)
        with self._lock:
            if self._cause is not None:
                self._hurry = True
                return
            self._cause = cause
        os.write(self._write, b"x")

    @contextmanager
    def part(self) -> Iterator["Cancellation"]:
        """A cancellation for a part of the work: it is told what this one is told, and can be told more by itself."""
        with Cancellation() as part:
            self._followers.append(part)
            try:
                if self._cause is not None:
                    part.cancel(self._cause)
                yield part
            finally:
                self._followers.remove(part)

    @property
    def cause(self) -> str | None:
        """Why the work is to stop, or None while it may go on."""
        return self._cause

    @property
    def cancelled(self) -> bool:
        """Whether the work is to stop."""
        return self._cause is not None

    @property
    def hurry(self) -> bool:
        """Whether it was asked twice."""
        return self._hurry

    def fileno(self) -> int:
        """A descriptor that is readable from the moment of cancellation; never read from it."""
        return self._read

    def close(self) -> None:
        """Release the descriptors."""
        os.close(self._read)
        os.close(self._write)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

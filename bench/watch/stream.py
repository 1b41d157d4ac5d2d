"""The event stream for programs that watch: one JSON object a line (schemas/event.schema.json)."""

import threading
from typing import BinaryIO

import msgspec

from bench.watch.events import Event


class JsonStream:
    """Writes every event as one JSON line, at once."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lock = threading.Lock()

    def see(self, event: Event) -> None:
        """Write the event."""
        with self._lock:
            left = memoryview(msgspec.json.encode(event) + b"\n")
            while left:  # one write, unless the disk is full: the next one then says why
                left = left[self._out.write(left) :]
            self._out.flush()

    def close(self) -> None:
        """Nothing is buffered; whoever opened the file closes it."""

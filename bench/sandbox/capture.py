"""What is kept of an output stream that is read to its end."""

from bench.measured import Captured


class Capture:
    """The first and the last `keep` bytes of a stream of any length, in bounded memory."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0

    def take(self, data: bytes) -> None:
        """The next bytes of the stream."""
        self.size += len(data)
        room = self._keep - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        del self._tail[: max(0, len(self._tail) - self._keep)]

    def captured(self) -> Captured:
        """What is known of the stream so far."""
        return Captured(head=bytes(self._head), tail=bytes(self._tail), size=self.size)

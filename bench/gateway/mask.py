"""A key that must not come back: an answer that repeats it is changed in those bytes, and in nothing else."""

from collections.abc import AsyncIterator


class KeyMask:
    """Replaces the key by as many asterisks, also where it is split between pieces."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()
        self._stars = b"*" * len(self._key)
        self._kept = b""

    def feed(self, data: bytes) -> bytes:
        """The bytes that can go out; the beginning of a key at their end is kept back."""
        if not self._key:
            return data
        text = (self._kept + data).replace(self._key, self._stars)
        keep = self._tail(text)
        self._kept = text[len(text) - keep :]
        return text[: len(text) - keep]

    def rest(self) -> bytes:
        """What was kept back, at the end."""
        kept, self._kept = self._kept, b""
        return kept

    def text(self, value: str) -> str:
        """A whole text."""
        return value.replace(self._key.decode(), self._stars.decode()) if self._key else value

    def _tail(self, text: bytes) -> int:
        """How many of the last bytes could begin a key."""
        longest = min(len(self._key) - 1, len(text))
        return next((size for size in range(longest, 0, -1) if self._key.startswith(text[-size:])), 0)


async def masked(chunks: AsyncIterator[bytes], mask: KeyMask) -> AsyncIterator[bytes]:
    """The pieces without the key."""
    async for chunk in chunks:
        if data := mask.feed(chunk):
            yield data
    if rest := mask.rest():
        yield rest

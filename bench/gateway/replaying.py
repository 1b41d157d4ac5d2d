"""The upstream `replay`: answers from cassettes, without a model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.gateway.cassette import Exchange, Miss, Player, canonical_redacted
from bench.gateway.upstream import Answer, Asked, UpstreamBroken
from bench.gateway.wire import PIECE
from bench.redaction import Redactor


class Replay:
    """Answers requests as they were answered before."""

    def __init__(self, player: Player, redactor: Redactor) -> None:
        self._player, self._redactor = player, redactor

    @asynccontextmanager
    async def ask(self, asked: Asked) -> AsyncIterator[Answer]:
        """The recorded answer; UpstreamBroken for a request that was not recorded, and where the answer broke."""
        canonical = canonical_redacted(asked.request, self._redactor)
        found = self._player.find(asked.cell, asked.protocol, asked.path, canonical)
        if isinstance(found, Miss):
            raise UpstreamBroken("replay-miss", found.sentence, sent=False)
        if found.status is None:
            raise UpstreamBroken("connection-dropped", "the recorded answer never came", sent=True)
        yield Answer(found.status, found.headers, _chunks(found))

    async def close(self) -> None:
        """There is nothing to let go of."""


async def _chunks(exchange: Exchange) -> AsyncIterator[bytes]:
    content = exchange.content
    for start in range(0, len(content), PIECE):
        yield content[start : start + PIECE]
    if exchange.cut:
        raise UpstreamBroken("stream-cut", "the recorded answer breaks off here", sent=True)

"""What answers a request: a provider, a script or a cassette, behind one small protocol."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from msgspec import Struct

from bench.gateway.model import Cause, ModelProtocol


class Asked(Struct, frozen=True, kw_only=True):
    """One request that goes to an upstream. `turn` counts the generating requests of its session from 0; `counts`
    says that it only wants tokens counted.
    """

    protocol: ModelProtocol
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    request: dict[str, Any]
    cell: str
    task: str
    session: str
    turn: int
    counts: bool


class Answer(Struct, frozen=True):
    """An answer whose head has arrived. `chunks` raises UpstreamBroken where it breaks."""

    status: int
    headers: tuple[tuple[str, str], ...]
    chunks: AsyncIterator[bytes]

    def header(self, name: str) -> str:
        """The first value of a header, given in lower case; nothing if it is absent."""
        return next((value for key, value in self.headers if key == name), "")


class UpstreamBroken(Exception):  # noqa: N818 - a state of the upstream
    """No answer, or no more of it. `sent` says whether the request may have been carried out, and so charged."""

    def __init__(self, cause: Cause, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.cause: Cause = cause
        self.sent = sent


class Upstream(Protocol):
    """Answers requests."""

    def ask(self, asked: Asked) -> AbstractAsyncContextManager[Answer]:
        """The answer while the block lasts; UpstreamBroken if there is none."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...

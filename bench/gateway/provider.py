"""A provider reached over HTTP/1.1. The real key is put in here, on the host's side, and masked in what comes back."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from urllib.parse import urlsplit

import h11

from bench.gateway.mask import KeyMask, masked
from bench.gateway.model import ModelProtocol, UpstreamConfig
from bench.gateway.upstream import Answer, Asked, UpstreamBroken
from bench.gateway.wire import PIECE

DEFAULT_BASES = {"anthropic": "https://api.anthropic.com/v1", "openai": "https://api.openai.com/v1"}
# Of a client's headers only these go on: the rest is about its own connection, or claims to be somebody.
_PASSED_ON = frozenset(
    {"content-type", "accept", "user-agent", "anthropic-version", "anthropic-beta", "openai-beta"}
)
_PASSED_BACK = (
    "content-type",
    "content-length",
    "content-encoding",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "request-id",
    "x-request-id",
)
_PREFIXES_BACK = ("anthropic-ratelimit-", "x-ratelimit-")
_IDLE_CONNECTION = 15.0  # providers close theirs after a minute or more
_MOST_IDLE = 16


class _Connection:
    """One connection to the provider, used for one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.http = h11.Connection(h11.CLIENT)
        self.free_since = 0.0
        self._late = False

    async def send(self, *events: h11.Event) -> None:
        """Send events in one piece: each piece wakes the other side."""
        self.writer.write(b"".join(self.http.send(event) or b"" for event in events))
        await self.writer.drain()

    async def event(self, seconds: float) -> h11.Event:
        """The next event of the answer; UpstreamBroken if there is none in time."""
        while True:
            event = self.http.next_event()
            if event is not h11.NEED_DATA:
                if isinstance(event, h11.Event) and not isinstance(event, h11.ConnectionClosed):
                    return event
                raise ConnectionError("the provider closed the connection")
            data = await self._read(seconds)
            if not data and self.http.their_state is h11.SEND_RESPONSE:
                raise ConnectionError("it closed the connection")
            self.http.receive_data(data)

    async def _read(self, seconds: float) -> bytes:
        """The next bytes, TimeoutError without any. A timer of the loop costs less than a timeout of a task."""
        timer = asyncio.get_running_loop().call_later(seconds, self._expire)
        try:
            data = await self.reader.read(PIECE)
        except OSError:
            data = b""
        finally:
            timer.cancel()
        if self._late:
            raise TimeoutError
        return data

    def _expire(self) -> None:
        self._late = True
        self.close()

    def reusable(self, now: float) -> bool:
        fresh = now - self.free_since < _IDLE_CONNECTION
        return fresh and not self.reader.at_eof() and not self.writer.is_closing()

    def close(self) -> None:
        self.writer.transport.abort()


class Provider:
    """The upstreams `anthropic`, `openai` and `openai_compatible`."""

    def __init__(self, config: UpstreamConfig, key: str) -> None:
        self._config, self._key = config, key
        base = urlsplit(config.base_url or DEFAULT_BASES[config.kind])
        self._secure = base.scheme == "https"
        self._host, self._port = base.hostname or "", base.port or (443 if self._secure else 80)
        self._authority = base.netloc.rpartition("@")[2]
        self._path = base.path.rstrip("/")
        self._context = ssl.create_default_context() if self._secure else None
        self._free: list[_Connection] = []

    def ask(self, asked: Asked) -> AbstractAsyncContextManager[Answer]:
        """Send the request as it came, with the real key, once the block is entered."""
        request = h11.Request(method="POST", target=self._target(asked), headers=self._headers_on(asked))
        return self._answer(request, asked.body)

    async def close(self) -> None:
        """Close the idle connections."""
        while self._free:
            self._free.pop().close()

    @asynccontextmanager
    async def _answer(self, request: h11.Request, body: bytes) -> AsyncIterator[Answer]:
        connection = await self._connect()
        whole = False
        try:
            head = await self._send(connection, request, body)
            headers = self._headers_back(head)
            chunks = masked(self._chunks(connection), KeyMask(self._key))
            yield Answer(head.status_code, headers, chunks)
            whole = connection.http.our_state is h11.DONE and connection.http.their_state is h11.DONE
        finally:
            self._release(connection, whole=whole)

    async def _connect(self) -> _Connection:
        now = asyncio.get_running_loop().time()
        while self._free:
            connection = self._free.pop()
            if connection.reusable(now):
                return connection
            connection.close()
        try:
            async with asyncio.timeout(self._config.connect_seconds):
                reader, writer = await asyncio.open_connection(self._host, self._port, ssl=self._context)
        except (OSError, TimeoutError) as error:
            raise UpstreamBroken(
                "unreachable", f"cannot reach {self._authority}: {_reason(error)}", sent=False
            ) from error
        return _Connection(reader, writer)

    async def _send(self, connection: _Connection, request: h11.Request, body: bytes) -> h11.Response:
        """Send, and wait for the head of the answer."""
        try:
            await connection.send(request, h11.Data(data=body), h11.EndOfMessage())
            while not isinstance(event := await connection.event(self._config.idle_seconds), h11.Response):
                pass  # 100 Continue and its like
        except (OSError, TimeoutError, h11.ProtocolError) as error:
            raise UpstreamBroken(
                "connection-dropped", f"{self._authority} did not answer: {_reason(error)}", sent=True
            ) from error
        return event

    async def _chunks(self, connection: _Connection) -> AsyncIterator[bytes]:
        try:
            while isinstance(event := await connection.event(self._config.idle_seconds), h11.Data):
                yield bytes(event.data)
        except (OSError, TimeoutError, h11.ProtocolError) as error:
            raise UpstreamBroken(
                "stream-cut", f"{self._authority} broke its answer off: {_reason(error)}", sent=True
            ) from error

    def _release(self, connection: _Connection, *, whole: bool) -> None:
        if not whole or len(self._free) >= _MOST_IDLE:
            connection.close()
            return
        with suppress(h11.ProtocolError):
            connection.http.start_next_cycle()
            connection.free_since = asyncio.get_running_loop().time()
            self._free.append(connection)

    def _target(self, asked: Asked) -> str:
        query = f"?{asked.query}" if asked.query else ""
        return f"{self._path}/{asked.path.removeprefix('/v1/')}{query}"

    def _headers_on(self, asked: Asked) -> list[tuple[str, str]]:
        """The client's harmless headers, the length, and the key."""
        kept = [(name, value) for name, value in asked.headers if name in _PASSED_ON]
        return [
            ("host", self._authority),
            *kept,
            ("accept-encoding", "identity"),
            ("content-length", str(len(asked.body))),
            *self._credentials(asked.protocol),
        ]

    def _credentials(self, protocol: ModelProtocol) -> list[tuple[str, str]]:
        if not self._key:
            return []
        bearer = ("authorization", f"Bearer {self._key}")
        if protocol != "anthropic_messages":
            return [bearer]
        own = ("x-api-key", self._key)
        return [own] if self._config.kind == "anthropic" else [own, bearer]

    def _headers_back(self, head: h11.Response) -> tuple[tuple[str, str], ...]:
        mask = KeyMask(self._key)
        pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers]
        return tuple(
            (name, mask.text(value))
            for name, value in pairs
            if name in _PASSED_BACK or name.startswith(_PREFIXES_BACK)
        )


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "nothing came in time"
    return str(getattr(error, "strerror", None) or error or type(error).__name__)

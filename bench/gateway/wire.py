"""HTTP/1.1 over asyncio's streams, by h11: one client's connection, its requests and their answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress

import h11

from bench.gateway.model import Cause

PIECE = 64 * 1024
_LARGEST_HEAD = 64 * 1024
# What a client may still send after it was refused, so that it reads the answer instead of an error.
_DRAINED = 256 * 1024 * 1024
_VANISHED = 1.0

Headers = Sequence[tuple[str, str]]


class RequestRefused(Exception):  # noqa: N818 - a state of the request
    """A request that cannot be taken in; `cause` says why."""

    def __init__(self, cause: Cause, message: str) -> None:
        super().__init__(message)
        self.cause: Cause = cause


class ClientLeft(Exception):  # noqa: N818 - a state of the client
    """The client closed the connection."""


class Incoming:
    """One request whose head has arrived."""

    def __init__(self, connection: "ServerConnection", event: h11.Request) -> None:
        self._connection = connection
        self.method = event.method.decode("ascii")
        target = event.target.decode("latin-1")
        self.path, _, self.query = target.partition("?")
        self.headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers]
        self.size = 0

    def header(self, name: str) -> str:
        """The first value of a header, given in lower case; nothing if it is absent."""
        return next((value for key, value in self.headers if key == name), "")

    async def body(self, most: int, patience: float) -> bytes:
        """The whole body; RequestRefused for one that is too large or too slow."""
        declared = self.header("content-length")
        if declared.isdigit() and int(declared) > most:
            raise RequestRefused("too-large", f"a request may have {most} bytes, this one has {declared}")
        parts: list[bytes] = []
        async for piece in self._connection.pieces(patience):
            self.size += len(piece)
            if self.size > most:
                raise RequestRefused("too-large", f"a request may have {most} bytes, this one has more")
            parts.append(piece)
        return b"".join(parts)


class ServerConnection:
    """One accepted connection, answered request by request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, patience: float) -> None:
        self._reader, self._writer, self._patience = reader, writer, patience
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_LARGEST_HEAD)
        self._begun = False
        self._discarded = 0
        self._head = b""
        self._kept: asyncio.Future[bytes] | None = None

    async def serve(self, handle: Callable[[Incoming, "ServerConnection"], Awaitable[None]]) -> None:
        """Answer requests until the connection ends. A client that leaves cancels its request."""
        try:
            while (incoming := await self._next_request()) is not None:
                self._begun = False
                await handle(incoming, self)
                if not await self._ready_for_next():
                    return
        except h11.RemoteProtocolError:
            await self._refuse_bytes()
        except (h11.LocalProtocolError, OSError, TimeoutError, ClientLeft, RequestRefused):
            return
        finally:
            await self._close()

    async def watched(self, work: Awaitable[None]) -> None:
        """Do `work`, and cancel it when the client leaves meanwhile; ClientLeft then."""
        worker = asyncio.current_task()
        over = left = False

        def look(watch: asyncio.Future[bytes]) -> None:
            nonlocal left
            if not over and not watch.cancelled():
                left = not self._received(watch)
                if left and worker is not None:
                    worker.cancel()

        watch = asyncio.ensure_future(self._reader.read(PIECE))
        watch.add_done_callback(look)
        try:
            await work
        except asyncio.CancelledError:
            if left and worker is not None and worker.uncancel() == 0:
                raise ClientLeft from None
            raise
        finally:
            over = True
            await self._unwatch(watch)

    async def respond(self, status: int, headers: Headers) -> None:
        """Begin an answer. Its head goes out with the first part of its body, or with `flush`; without a length it
        goes out in chunks.
        """
        self._head = self._http.send(h11.Response(status_code=status, headers=list(headers))) or b""
        self._begun = True

    @property
    def begun(self) -> bool:
        """Whether the answer was begun."""
        return self._begun

    async def flush(self) -> None:
        """Send the head of an answer whose body is not there yet."""
        if self._head:
            await self._put(b"")

    async def write(self, data: bytes) -> None:
        """Send a part of the answer's body, and wait while the client is slow."""
        self.put(data)
        await self.drain()

    def put(self, data: bytes) -> None:
        """Send a part of the answer's body at once; `drain` waits while the client is slow."""
        self._write(self._http.send(h11.Data(data=data)) or b"")

    async def drain(self) -> None:
        """Wait while the client is slow."""
        await self._writer.drain()

    async def finish(self) -> None:
        """End the answer."""
        await self._put(self._http.send(h11.EndOfMessage()) or b"")

    def abort(self) -> None:
        """Break the connection, so that a cut answer does not look like a whole one."""
        self._writer.transport.abort()

    async def pieces(self, patience: float) -> AsyncIterator[bytes]:
        """The request's body as it arrives; RequestRefused if it stops arriving."""
        if self._http.they_are_waiting_for_100_continue:
            await self._put(self._http.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                await self._more(patience)
                continue
            if not isinstance(event, h11.Data):
                return
            yield bytes(event.data)

    async def discard(self, patience: float) -> None:
        """Let go of the rest of a request's body, up to a limit, so that its client reads the answer."""
        if self._http.their_state is not h11.SEND_BODY:
            return
        async for piece in self.pieces(patience):
            self._discarded += len(piece)
            if self._discarded > _DRAINED:
                return

    async def _unwatch(self, watch: asyncio.Future[bytes]) -> None:
        """Stop looking; what the client sent ahead is kept."""
        if not watch.done():
            watch.cancel()
            await asyncio.wait((watch,))
        elif not watch.cancelled() and self._kept is not watch:
            self._received(watch)

    async def _next_request(self) -> Incoming | None:
        """The head of the next request; None when the client has no more. Once begun, it has to arrive in time."""
        deadline = None
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.trailing_data[0]:
                deadline = deadline or asyncio.get_running_loop().time() + self._patience
                async with asyncio.timeout_at(deadline):
                    self._http.receive_data(await self._reader.read(PIECE))
            else:
                self._http.receive_data(await self._reader.read(PIECE))
        return Incoming(self, event) if isinstance(event, h11.Request) else None

    async def _more(self, patience: float) -> None:
        """Take the next bytes of a request's body."""
        try:
            async with asyncio.timeout(patience):
                data = await self._reader.read(PIECE)
        except TimeoutError:
            raise RequestRefused(
                "slow-request", f"nothing more of the request came for {patience:g} s"
            ) from None
        if not data:
            raise ClientLeft
        self._http.receive_data(data)

    async def _put(self, data: bytes) -> None:
        self._write(data)
        await self._writer.drain()

    def _write(self, data: bytes) -> None:
        data, self._head = self._head + data, b""
        if data:
            self._writer.write(data)

    def _received(self, watch: "asyncio.Future[bytes]") -> bool:
        """Keep what a client sent ahead; False if it left."""
        self._kept = watch
        try:
            data = watch.result()
        except OSError:
            return False
        if data:
            self._http.receive_data(data)
        return bool(data)

    async def _ready_for_next(self) -> bool:
        """Whether another request may follow on this connection."""
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            return True
        return False

    async def _refuse_bytes(self) -> None:
        """Say that what came is no HTTP."""
        with suppress(h11.LocalProtocolError, OSError):
            await self.respond(400, [("content-length", "0"), ("connection", "close")])
            await self.finish()

    async def _close(self) -> None:
        self._writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_VANISHED):
                await self._writer.wait_closed()

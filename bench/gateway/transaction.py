"""One request of a cell, from its head to its record. Whatever happens, it is settled once and recorded once."""

import asyncio
import time
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from msgspec import Struct, structs

from bench.gateway.bounds import Unbounded, parse_request, prove
from bench.gateway.model import (
    NOTHING_USED,
    SPOKEN,
    Cause,
    Ceiling,
    GatewayLimits,
    ModelProtocol,
    RequestRecord,
    ServedModel,
    TokenUsage,
    UpstreamKind,
)
from bench.gateway.purse import Refused
from bench.gateway.reading import AnswerReader, reader_for
from bench.gateway.recording import Recorder, Tape
from bench.gateway.routes import Route, protocol_of, route_of
from bench.gateway.settling import FIRST_ERROR, Settlement, settle_answer, settle_broken
from bench.gateway.shapes import LocalAnswer, model_list, one_model, refusal
from bench.gateway.throttle import Throttle, retry_after
from bench.gateway.upstream import Answer, Asked, Upstream, UpstreamBroken
from bench.gateway.wire import ClientLeft, Incoming, RequestRefused, ServerConnection

_SHOWN_ERROR = 2000
_MILLISECONDS = 1000.0
# What a provider says when it wants fewer requests.
_TOO_MANY = (429, 503, 529)
# What no provider means to say. An answer that merely states no usage is none of these.
_NOT_TO_BE_TRUSTED: frozenset[Cause | None] = frozenset(
    {"not-the-protocol", "malformed", "two-terminals", "stream-cut", "connection-dropped"}
)


class Treasury(Protocol):
    """Asks the run for money. A hold is a number."""

    def reserve(self, cell: str, session: str, ceiling: Ceiling) -> asyncio.Future[int | Refused]:
        """Ask at once for a ceiling to be held back, or refused. One that is granted to a cancelled future is
        returned by itself.
        """
        ...

    def settle(self, hold: int, usage: TokenUsage | None) -> None:
        """Charge a hold; None charges all of it."""
        ...


class Desk(Struct, frozen=True, kw_only=True):
    """What all requests of a gateway share."""

    kind: UpstreamKind
    upstream: Upstream
    models: dict[str, ServedModel]
    limits: GatewayLimits
    throttle: Throttle
    treasury: Treasury
    recorder: Recorder


class CellState:
    """The counters of one cell."""

    def __init__(self, name: str, task: str) -> None:
        self.name, self.task = name, task
        self.session = ""
        self.requests = 0
        self.distrusted = 0
        self._turn = 0
        self._turns: int | None = None

    def begin(self, session: str, turns: int | None) -> None:
        """Count the turns of another session, at most so many, and trust it anew."""
        self.session, self._turn, self._turns, self.distrusted = session, 0, turns, 0

    def next_turn(self) -> int:
        """The number of a generating request within its session; RequestRefused if it may have no more."""
        if self._turns is not None and self._turn >= self._turns:
            raise RequestRefused("too-many-requests", f"the session may ask its model {self._turns} times")
        self._turn += 1
        return self._turn - 1


class Transaction:
    """One request. `run` answers it, and returns its record."""

    def __init__(self, desk: Desk, cell: CellState, incoming: Incoming, connection: ServerConnection) -> None:
        self._desk, self._cell, self._incoming, self._connection = desk, cell, incoming, connection
        self._began = time.perf_counter()
        cell.requests += 1
        self._record = RequestRecord(
            seq=cell.requests,
            session=cell.session,
            protocol=protocol_of(incoming.path),
            path=incoming.path[:200],
            model=None,
            ms=0.0,
            bytes_in=0,
            bytes_out=0,
        )
        self._hold: int | None = None
        self._sent = self._ended = False
        self._reader: AnswerReader | None = None
        self._tape: Tape | None = None
        self._written = 0
        self._last_byte: float | None = None

    async def run(self) -> RequestRecord:
        """Answer the request. Never raises but for cancellation."""
        try:
            await self._answer()
        except RequestRefused as refused:
            await self._refuse(refused.cause, str(refused))
        except UpstreamBroken as broken:
            await self._break(broken)
        except (ClientLeft, OSError):
            self._interrupted("client-left", "the client closed its connection")
        except asyncio.CancelledError:
            self._interrupted("stopped", "the cell was closed")
            raise
        finally:
            self._close_books()
        return self._record

    def finished(self) -> RequestRecord:
        """The record as it stands."""
        return self._record

    async def _answer(self) -> None:
        route = route_of(self._incoming.method, self._incoming.path)
        if route is None:
            raise RequestRefused("unknown-path", f"there is no {self._incoming.method} {self._record.path}")
        if self._cell.requests > self._desk.limits.requests:
            raise RequestRefused("too-many-requests", f"a cell may ask {self._desk.limits.requests} times")
        if route.protocol is None:
            await self._list_models(route)
        else:
            await self._ask(route, route.protocol)

    async def _list_models(self, route: Route) -> None:
        anthropic = bool(self._incoming.header("anthropic-version"))
        if route.action == "models":
            await self._reply(model_list(tuple(self._desk.models.values()), anthropic=anthropic))
            return
        name = self._incoming.path.removeprefix("/v1/models/")
        model = self._desk.models.get(name)
        if model is None:
            raise RequestRefused("not-served", f"model {name!r} is not served here")
        await self._reply(one_model(model, anthropic=anthropic))

    async def _ask(self, route: Route, protocol: ModelProtocol) -> None:
        body, request = await self._read(protocol)
        if self._cell.distrusted >= self._desk.limits.distrusted:
            raise RequestRefused(
                "distrusted",
                f"{self._cell.distrusted} answers in a row could not be trusted: no more are asked for",
            )
        asked = Asked(
            protocol=protocol,
            path=self._incoming.path,
            query=self._incoming.query,
            headers=tuple(self._incoming.headers),
            body=body,
            request=request,
            cell=self._cell.name,
            task=self._cell.task,
            session=self._cell.session,
            turn=self._cell.next_turn() if route.action == "generate" else 0,
            counts=route.action == "count",
        )
        ceiling = self._ceiling(asked)
        await self._connection.watched(self._forward(asked, ceiling))

    async def _read(self, protocol: ModelProtocol) -> tuple[bytes, dict[str, Any]]:
        """The body and what it says; RequestRefused for what cannot be understood or is not spoken here."""
        limits = self._desk.limits
        encoding = self._incoming.header("content-encoding")
        body = await self._incoming.body(limits.request_bytes, limits.patience)
        self._record = structs.replace(self._record, bytes_in=len(body))
        if encoding not in ("", "identity"):
            raise RequestRefused(
                "bad-request", f"the body is {encoding}: its size proves nothing; send it plain"
            )
        if protocol not in SPOKEN[self._desk.kind]:
            raise RequestRefused("not-served", f"upstream {self._desk.kind} does not speak {protocol}")
        request = parse_request(body)
        if isinstance(request, Unbounded):
            raise RequestRefused(request.cause, request.reason)
        model = request.get("model")
        self._record = structs.replace(self._record, model=str(model)[:200] if model is not None else None)
        return body, request

    def _ceiling(self, asked: Asked) -> Ceiling | None:
        """The proven ceiling; None for a request that only counts, which is free."""
        if asked.counts:
            if asked.request.get("model") not in self._desk.models:
                raise RequestRefused("not-served", f"model {self._record.model!r} is not served here")
            return None
        ceiling = prove(asked.protocol, asked.body, asked.request, self._desk.models)
        if isinstance(ceiling, Unbounded):
            raise RequestRefused(ceiling.cause, ceiling.reason)
        self._record = structs.replace(self._record, ceiling=ceiling)
        return ceiling

    async def _forward(self, asked: Asked, ceiling: Ceiling | None) -> None:
        """Wait for a place, hold the ceiling, pass the request on and its answer back."""
        await self._wait_for_place()
        prepared = self._desk.upstream.ask(asked) if ceiling is None else await self._paid(asked, ceiling)
        self._tape = self._desk.recorder.tape(asked, self._record.seq)
        self._sent = True
        async with prepared as answer:
            await self._pass_back(asked, answer, ceiling)

    async def _paid(self, asked: Asked, ceiling: Ceiling) -> AbstractAsyncContextManager[Answer]:
        """The request, prepared while the run decides on its ceiling; RequestRefused if that is not held."""
        granted = self._desk.treasury.reserve(self._cell.name, self._record.session, ceiling)
        granted.add_done_callback(self._keep_hold)
        try:
            prepared = self._desk.upstream.ask(asked)
            held = await granted
        finally:
            granted.cancel()
        if isinstance(held, Refused):
            raise RequestRefused("budget", held.reason)
        return prepared

    def _keep_hold(self, granted: asyncio.Future[int | Refused]) -> None:
        """Keep a hold the moment it is granted: its request may end before it hears of it."""
        held = None if granted.cancelled() else granted.result()
        self._hold = held if isinstance(held, int) else None

    async def _wait_for_place(self) -> None:
        wait = self._desk.throttle.take(self._desk.limits.longest_wait)
        if wait is None:
            raise RequestRefused(
                "throttled", "the upstream asked for a pause that is longer than is waited here"
            )
        if wait:
            await asyncio.sleep(wait)

    async def _pass_back(self, asked: Asked, answer: Answer, ceiling: Ceiling | None) -> None:
        """Pass every byte as it comes; settle before the end is told, so that the next request finds the rest."""
        self._heed(answer)
        first = self._elapsed()
        self._record = structs.replace(self._record, status=answer.status, first_byte_ms=first)
        self._reader = reader_for(asked.protocol, answer.header("content-type"))
        if self._tape is not None:
            self._tape.head(answer)
        await self._connection.respond(answer.status, answer.headers)
        beginning = b""
        async for chunk in answer.chunks:
            # first on, then read; and read before anything waits, so that a client that leaves takes nothing with it
            self._connection.put(chunk)
            self._last_byte = self._elapsed()
            self._reader.feed(chunk)
            if self._tape is not None:
                self._tape.add(chunk)
            if answer.status >= FIRST_ERROR and len(beginning) < _SHOWN_ERROR:
                beginning += chunk
            await self._connection.drain()
            self._written += len(chunk)
        self._finish_books(asked, answer, ceiling, beginning[:_SHOWN_ERROR].decode("utf-8", "replace"))
        await self._connection.finish()
        self._ended = True

    def _heed(self, answer: Answer) -> None:
        """Pause for all cells as long as the provider asks; the answer itself goes on to its client."""
        seconds = retry_after(answer.header("retry-after"))
        if answer.status in _TOO_MANY and seconds:
            self._desk.throttle.pause(seconds)

    def _finish_books(self, asked: Asked, answer: Answer, ceiling: Ceiling | None, error: str) -> None:
        """Settle an answer that came to its end."""
        if self._tape is not None:
            self._tape.end()
        if ceiling is None or self._reader is None:
            if answer.status >= FIRST_ERROR:
                self._note("provider-error", f"{answer.status}: {error}")
            return
        reading = self._reader.close()
        detail = f"the provider answered {answer.status}: {error}"
        settlement = settle_answer(asked.protocol, answer.status, reading, ceiling, detail)
        self._record = structs.replace(self._record, served=reading.served)
        self._settle(settlement)

    def _interrupted(self, cause: Cause, detail: str) -> None:
        """A client may leave with the last event, before its answer has formally ended: then nothing is missing."""
        reading = self._reader.close() if self._reader else None
        ceiling, protocol, status = self._record.ceiling, self._record.protocol, self._record.status
        stated = reading is not None and reading.complete
        if stated and reading and ceiling and protocol and status:
            if self._tape is not None:
                self._tape.end()
            if self._hold is not None:
                self._record = structs.replace(self._record, served=reading.served)
                self._settle(settle_answer(protocol, status, reading, ceiling, ""))
        elif not self._ended:
            self._note(cause, detail)

    def _close_books(self) -> None:
        """Settle what is still open, and stop the clock."""
        protocol = self._record.protocol
        if self._hold is not None and protocol is not None:
            reading = self._reader.close() if self._reader else None
            self._record = structs.replace(self._record, served=reading.served if reading else None)
            self._settle(settle_broken(protocol, reading, sent=self._sent))
        if self._tape is not None:
            self._tape.close(left=self._record.cause in ("client-left", "stopped"))
        self._record = structs.replace(
            self._record, ms=self._elapsed(), bytes_out=self._written, last_byte_ms=self._last_byte
        )

    def _settle(self, settlement: Settlement) -> None:
        cause = self._record.cause or settlement.cause
        # an error says nothing of trust: a proxy may alternate them with pages
        if settlement.charged != "nothing" and cause != "provider-error":
            self._cell.distrusted = self._cell.distrusted + 1 if cause in _NOT_TO_BE_TRUSTED else 0
        if self._hold is not None:
            used = {"actual": settlement.usage, "ceiling": None, "nothing": NOTHING_USED}
            self._desk.treasury.settle(self._hold, used[settlement.charged])
            self._hold = None
        self._record = structs.replace(
            self._record, native=settlement.native, usage=settlement.usage, settled=settlement.charged
        )
        if settlement.cause is not None:
            self._note(settlement.cause, settlement.detail)

    async def _break(self, broken: UpstreamBroken) -> None:
        """Tell the client of a broken upstream as the upstream itself would have."""
        self._sent = self._sent and broken.sent
        if not self._sent:
            self._tape = None  # nobody answered
        self._note(broken.cause, str(broken))
        if self._connection.begun or broken.cause == "connection-dropped":
            self._connection.abort()
        else:
            await self._refuse(broken.cause, str(broken))

    async def _refuse(self, cause: Cause, message: str) -> None:
        """Answer in the protocol's own shape."""
        self._note(cause, message)
        wait = self._desk.throttle.wait() if cause == "throttled" else 0
        try:
            await self._reply(refusal(self._record.protocol, cause, message, wait))
        except (OSError, ClientLeft, RequestRefused):
            self._connection.abort()

    async def _reply(self, answer: LocalAnswer) -> None:
        await self._connection.discard(self._desk.limits.patience)
        self._record = structs.replace(self._record, status=answer.status)
        length = ("content-length", str(len(answer.body)))
        await self._connection.respond(answer.status, [*answer.headers, length])
        await self._connection.write(answer.body)
        self._written += len(answer.body)
        await self._connection.finish()
        self._ended = True

    def _note(self, cause: Cause, detail: str) -> None:
        """Keep the first cause."""
        if self._record.cause is None:
            self._record = structs.replace(self._record, cause=cause, detail=detail[:_SHOWN_ERROR])

    def _elapsed(self) -> float:
        return round((time.perf_counter() - self._began) * _MILLISECONDS, 3)

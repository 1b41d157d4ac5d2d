"""The gateway's process: `python -m bench.gateway.server CONTROL LIVENESS`, two descriptors from the run.

It ends when the run ends, however that happens: the control socket closes, the liveness pipe closes, and the kernel
sends SIGTERM. The pipe has a thread of its own, for the case that the event loop hangs.
"""

import asyncio
import ctypes
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from bench.errors import IncumbentError
from bench.gateway.cassette import Player, read_cassettes
from bench.gateway.cells import CellSocket
from bench.gateway.control import (
    Begin,
    BeginSession,
    CloseCell,
    Done,
    FromGateway,
    FromRun,
    Granted,
    Lines,
    OpenCell,
    Recorded,
    Reserve,
    Settle,
    line_of,
)
from bench.gateway.model import NOTHING_USED, Ceiling, RequestRecord, TokenUsage
from bench.gateway.provider import Provider
from bench.gateway.purse import Refused
from bench.gateway.recording import Recorder
from bench.gateway.replaying import Replay
from bench.gateway.scripted import Scripted
from bench.gateway.throttle import Throttle
from bench.gateway.transaction import CellState, Desk
from bench.gateway.upstream import Upstream
from bench.redaction import Redactor

_LAST_GRACE = 3.0
_PR_SET_PDEATHSIG = 1
_SWITCH_SECONDS = 0.0002
_COLLECTED_AFTER = 20_000  # objects


class RunLine:
    """The line to the run: asks for money, reports records."""

    def __init__(self, writer: asyncio.WriteTransport, redactor: Redactor) -> None:
        self._writer, self._redactor = writer, redactor
        self._unsent = b""
        self._asked: dict[int, asyncio.Future[int | Refused]] = {}
        self._holds = 0

    def say(self, message: FromGateway) -> None:
        """Send one message, behind those that wait; the run reads all the time."""
        self._writer.write(self._unsent + line_of(message))
        self._unsent = b""

    def reserve(self, cell: str, session: str, ceiling: Ceiling) -> asyncio.Future[int | Refused]:
        """Ask for a ceiling, at once. One that is granted after the answer was cancelled is returned at once."""
        self._holds += 1
        answer: asyncio.Future[int | Refused] = asyncio.get_running_loop().create_future()
        self._asked[self._holds] = answer
        self.say(Reserve(hold=self._holds, cell=cell, session=session, ceiling=ceiling))
        return answer

    def settle(self, hold: int, usage: TokenUsage | None) -> None:
        """Report what a hold is charged. It goes with the next message, before any other question: its request's
        record follows at once.
        """
        self._unsent += line_of(Settle(hold=hold, usage=usage))

    def granted(self, answer: Granted) -> None:
        """The run's answer to a question."""
        asked = self._asked.pop(answer.hold, None)
        if asked is not None and not asked.done():
            asked.set_result(answer.hold if answer.refused is None else Refused(answer.refused))
        elif answer.refused is None:
            self.say(Settle(hold=answer.hold, usage=NOTHING_USED))

    def record(self, cell: str, record: RequestRecord) -> None:
        """Report a finished request, redacted: names and messages in it are strangers' words."""
        clean = self._redactor.bytes(msgspec.json.encode(record))
        self.say(Recorded(cell=cell, record=msgspec.json.decode(clean, type=RequestRecord)))


class GatewayServer:
    """Carries out the run's orders."""

    def __init__(self, begin: Begin, line: RunLine, redactor: Redactor) -> None:
        config = begin.config
        self._line = line
        self._cells: dict[str, CellSocket] = {}
        folder = None if config.record is None else Path(config.record)
        self.recorder = Recorder(folder, redactor)
        self._desk = Desk(
            kind=config.upstream.kind,
            upstream=_upstream(begin, redactor),
            models={model.id: model for model in config.models},
            limits=config.limits,
            throttle=_throttle(begin),
            treasury=line,
            recorder=self.recorder,
        )

    async def obey(self, order: FromRun) -> None:
        """Carry out one order, and say that it is done."""
        match order:
            case OpenCell():
                await self._answered(order.id, self._open(order))
            case BeginSession():
                await self._answered(order.id, self._begin_session(order))
            case CloseCell():
                await self._answered(order.id, self._close(order.cell))
            case Begin() | Granted():
                raise TypeError("this is no order to a gateway that has begun")

    async def close(self) -> None:
        """Remove every socket, end every request, finish the cassettes."""
        for socket_of in self._cells.values():
            socket_of.unlink()
        with suppress(OSError):
            for cell in list(self._cells):
                await self._close(cell)
        await self._desk.upstream.close()

    async def _answered(self, number: int, work: Awaitable[None]) -> None:
        error = None
        try:
            await work
        except OSError as failed:
            error = f"{failed.strerror}: {failed.filename}" if failed.filename else str(failed)
        self._line.say(Done(id=number, error=error))

    async def _begin_session(self, order: BeginSession) -> None:
        cell = self._cells.get(order.cell)
        if cell is None:
            raise OSError(f"cell {order.cell!r} is not open")
        cell.state.begin(order.session, order.turns)

    async def _open(self, order: OpenCell) -> None:
        state = CellState(order.cell, order.task)
        cell = CellSocket(self._desk, state, Path(order.folder), order.name, self._line)
        await cell.open()
        self._cells[order.cell] = cell

    async def _close(self, name: str) -> None:
        """The records and cassettes of a cell are complete when this is done."""
        cell = self._cells.pop(name, None)
        if cell is not None:
            await cell.close()
        await self.recorder.flush()
        if self.recorder.fault:
            raise OSError(self.recorder.fault)


def _upstream(begin: Begin, redactor: Redactor) -> Upstream:
    config = begin.config
    if config.upstream.kind == "scripted":
        if begin.script is None:
            raise TypeError("the upstream `scripted` needs a script")
        return Scripted(begin.script)
    if config.upstream.kind == "replay":
        if config.cassettes is None:
            raise TypeError("the upstream `replay` needs cassettes")
        return Replay(Player(read_cassettes(Path(config.cassettes))), redactor)
    return Provider(config.upstream, begin.key)


def _throttle(begin: Begin) -> Throttle:
    upstream = begin.config.upstream
    return Throttle(upstream.requests_per_minute, upstream.burst, asyncio.get_running_loop().time)


async def serve(control: int) -> None:
    """Obey until the run is gone."""
    loop = asyncio.get_running_loop()
    stream = socket.socket(fileno=control)
    stream.setblocking(False)
    orders = Orders()
    transport, _ = await loop.create_connection(lambda: orders, sock=stream)
    begin = await orders.next()
    if not isinstance(begin, Begin):
        return  # the run is gone already
    redactor = Redactor(begin.secrets)
    line = RunLine(transport, redactor)
    try:
        server = GatewayServer(begin, line, redactor)
    except IncumbentError as error:
        line.say(Done(id=0, error=str(error)))
        transport.close()  # when that is said
        await orders.next()
        return
    recording = asyncio.ensure_future(server.recorder.run())
    orders.grants = line.granted
    line.say(Done(id=0))
    loop.add_signal_handler(signal.SIGTERM, orders.end)
    try:
        await _obey_all(server, orders)
    finally:
        await server.close()
        recording.cancel()


class Orders(asyncio.Protocol):
    """What the run says. Grants are heard the moment they arrive, as requests wait for them; the rest in turn."""

    def __init__(self) -> None:
        self.grants: Callable[[Granted], None] | None = None
        self._decoder, self._lines = msgspec.json.Decoder(FromRun), Lines()
        self._waiting: asyncio.Queue[FromRun | None] = asyncio.Queue()

    def data_received(self, data: bytes) -> None:
        """Take the next bytes."""
        for line in self._lines.feed(data):
            order = self._decoder.decode(line)
            if isinstance(order, Granted) and self.grants is not None:
                self.grants(order)
            else:
                self._waiting.put_nowait(order)

    def eof_received(self) -> bool:
        """The run has no more orders, and still listens."""
        self.end()
        return True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - however it ended
        """The run is gone."""
        self.end()

    def end(self) -> None:
        """Take no more orders after those that wait."""
        self._waiting.put_nowait(None)

    async def next(self) -> FromRun | None:
        """The next order; None when there are no more."""
        return await self._waiting.get()


async def _obey_all(server: GatewayServer, orders: Orders) -> None:
    """Orders are carried out side by side: closing a cell may take a moment."""
    under_way: set[asyncio.Task[None]] = set()
    while (order := await orders.next()) is not None:
        task = asyncio.ensure_future(server.obey(order))
        under_way.add(task)
        task.add_done_callback(under_way.discard)


def _die_with_parent(liveness: int) -> None:
    """SIGTERM from the kernel, and a thread that sees the pipe close."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)

    def watch() -> None:
        while os.read(liveness, 1):
            pass
        threading.Event().wait(_LAST_GRACE)  # for the orderly end, which the control socket begins
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="liveness").start()


def main(arguments: list[str]) -> int:
    """The process."""
    os.umask(0o077)
    # cassettes are written by a thread, whose work must not hold requests up
    sys.setswitchinterval(_SWITCH_SECONDS)
    # nor must the collector, which has nothing to find in the modules, nor in the requests' own values
    gc.freeze()
    gc.set_threshold(_COLLECTED_AFTER)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run decides what an interrupt means
    control, liveness = map(int, arguments)
    _die_with_parent(liveness)
    asyncio.run(serve(control))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

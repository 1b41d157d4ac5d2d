"""The gateway's process: `python -m bench.gateway.server CONTROL LIVENESS`, two descriptors from the run.

It ends when the run ends, however that happens: the control socket closes, the liveness pipe closes, and the kernel
sends SIGTERM. The pipe has a thread of its own, for the case that the event loop hangs.
"""

import asyncio
import ctypes
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable
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

_LONGEST_ORDER = 256 * 1024 * 1024  # a script comes as one line
_LAST_GRACE = 3.0
_PR_SET_PDEATHSIG = 1
_SWITCH_SECONDS = 0.0002


class RunLine:
    """The line to the run: asks for money, reports records."""

    def __init__(self, writer: asyncio.StreamWriter, redactor: Redactor) -> None:
        self._writer, self._redactor = writer, redactor
        self._unsent = b""
        self._asked: dict[int, asyncio.Future[str | None]] = {}
        self._holds = 0

    def say(self, message: FromGateway) -> None:
        """Send one message, behind those that wait; the run reads all the time."""
        self._writer.write(self._unsent + line_of(message))
        self._unsent = b""

    async def reserve(self, cell: str, session: str, ceiling: Ceiling) -> int | Refused:
        """Ask for a ceiling. One that is granted after the request was given up is returned at once."""
        self._holds += 1
        hold = self._holds
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._asked[hold] = answer
        self.say(Reserve(hold=hold, cell=cell, session=session, ceiling=ceiling))
        reason = await answer
        return hold if reason is None else Refused(reason)

    def settle(self, hold: int, usage: TokenUsage | None) -> None:
        """Report what a hold is charged. It goes with the next message, before any other question: its request's
        record follows at once.
        """
        self._unsent += line_of(Settle(hold=hold, usage=usage))

    def granted(self, answer: Granted) -> None:
        """The run's answer to a question."""
        asked = self._asked.pop(answer.hold, None)
        if asked is not None and not asked.done():
            asked.set_result(answer.refused)
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
            case Granted():
                self._line.granted(order)
            case OpenCell():
                await self._answered(order.id, self._open(order))
            case BeginSession():
                await self._answered(order.id, self._begin_session(order))
            case CloseCell():
                await self._answered(order.id, self._close(order.cell))
            case Begin():
                raise TypeError("the gateway has begun")

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
        cell.state.begin(order.session)

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
    stream = socket.socket(fileno=control)
    reader, writer = await asyncio.open_connection(sock=stream, limit=_LONGEST_ORDER)
    begin = msgspec.json.decode(await reader.readline(), type=Begin)
    redactor = Redactor(begin.secrets)
    line = RunLine(writer, redactor)
    try:
        server = GatewayServer(begin, line, redactor)
    except IncumbentError as error:
        line.say(Done(id=0, error=str(error)))
        await writer.drain()
        return
    recording = asyncio.ensure_future(server.recorder.run())
    line.say(Done(id=0))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, reader.feed_eof)
    try:
        await _obey_all(server, reader)
    finally:
        await server.close()
        recording.cancel()


async def _obey_all(server: GatewayServer, reader: asyncio.StreamReader) -> None:
    """Orders are carried out side by side: closing a cell may take a moment, and grants must not wait for it."""
    decoder = msgspec.json.Decoder(FromRun)
    orders: set[asyncio.Task[None]] = set()
    while line := await reader.readline():
        order = decoder.decode(line)
        if isinstance(order, Granted):
            await server.obey(order)
            continue
        task = asyncio.ensure_future(server.obey(order))
        orders.add(task)
        task.add_done_callback(orders.discard)


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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run decides what an interrupt means
    control, liveness = map(int, arguments)
    _die_with_parent(liveness)
    asyncio.run(serve(control))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The sockets of the cells, each with its connections: made, served and removed in the gateway's process."""

import asyncio
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from bench.gateway.model import RequestRecord
from bench.gateway.transaction import CellState, Desk, Transaction
from bench.gateway.wire import Incoming, ServerConnection

_BACKLOG = 128


class Register(Protocol):
    """Takes the records of finished requests."""

    def record(self, cell: str, record: RequestRecord) -> None:
        """Keep one."""
        ...


class CellSocket:
    """One cell's socket. Whoever comes in here is that cell, whatever it claims."""

    def __init__(self, desk: Desk, state: CellState, folder: Path, name: str, register: Register) -> None:
        self._desk, self.state, self._register = desk, state, register
        self._path = folder / name
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen. OSError if the socket cannot be made."""
        listening = _bound(self._path)
        self._server = await asyncio.start_unix_server(self._accept, sock=listening, backlog=_BACKLOG)

    async def close(self) -> None:
        """Listen no more, end what is under way, remove the socket."""
        self.unlink()
        if self._server is not None:
            self._server.close()
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    def unlink(self) -> None:
        """Remove the socket's name."""
        with suppress(OSError):
            self._path.unlink()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(self._tasks) >= self._desk.limits.connections:
            writer.transport.abort()
            return
        self._tasks.add(task)
        try:
            await ServerConnection(reader, writer, self._desk.limits.patience).serve(self._handle)
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._tasks.discard(task)

    async def _handle(self, incoming: Incoming, connection: ServerConnection) -> None:
        transaction = Transaction(self._desk, self.state, incoming, connection)
        try:
            await transaction.run()
        finally:
            self._register.record(self.state.name, transaction.finished())


def _bound(path: Path) -> socket.socket:
    """A socket bound to `path`, however long that is: the system takes 107 bytes, so it is named from its folder."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(f"/proc/self/fd/{folder}/{path.name}")
    except OSError:
        listening.close()
        raise
    finally:
        os.close(folder)
    return listening

"""The run's end of the gateway: starts its process, opens and closes cells, pays, keeps the records."""

import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import msgspec
from msgspec import Struct

from bench.errors import GatewayBroken, GatewayError
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
from bench.gateway.model import (
    REFUSALS,
    GatewayConfig,
    RequestRecord,
    TokenUsage,
    sum_tokens,
)
from bench.gateway.opening import resolved_key
from bench.gateway.purse import Hold, Purse, Refused
from bench.gateway.script import Script, read_script

SOCKET_NAME = "model.sock"
_START_SECONDS = 30.0
_ORDER_SECONDS = 60.0
_PIECE = 256 * 1024
_LAST_WORDS = 2000


class CellTraffic(Struct, frozen=True, kw_only=True):
    """Everything that a cell asked for, in order."""

    records: tuple[RequestRecord, ...]

    def usage(self, session: str | None = None) -> TokenUsage:
        """The tokens of one session, or of all: every request that may have been charged, subagents and retries
        included.
        """
        return sum_tokens([each.usage for each in self._of(session) if each.usage is not None])

    def requests(self, session: str | None = None) -> int:
        """How many requests went to the upstream."""
        return sum(each.settled is not None for each in self._of(session))

    def refused(self, session: str | None = None) -> tuple[RequestRecord, ...]:
        """What the gateway itself refused; cause `budget` is an exhausted budget."""
        return tuple(each for each in self._of(session) if each.cause in REFUSALS)

    def first_cause(self, session: str | None = None) -> RequestRecord | None:
        """The first request that did not go well."""
        return next((each for each in self._of(session) if each.cause is not None), None)

    def log(self) -> bytes:
        """The artifact `requests`: one JSON object a line, redacted already."""
        return b"".join(msgspec.json.encode(each) + b"\n" for each in self.records)

    def _of(self, session: str | None) -> Iterator[RequestRecord]:
        return (each for each in self.records if session in (None, each.session))


class _Books:
    """What the run knows of one cell: who pays for its session, its open holds, its records."""

    def __init__(self) -> None:
        self.purses: dict[str, Purse] = {}
        self.records: list[RequestRecord] = []


class GatewayCell:
    """One cell's way to a model."""

    def __init__(self, gateway: "Gateway", name: str, socket_path: Path, books: _Books) -> None:
        self._gateway, self._name, self._books = gateway, name, books
        self.socket = socket_path
        self.token = f"cell-{secrets.token_hex(16)}"  # worthless: it opens nothing, and nothing looks at it

    def begin(self, session: str, purse: Purse, turns: int | None = None) -> None:
        """The requests from now on belong to this session, and `purse` pays for them; at most `turns` of them get an
        answer. GatewayBroken if the gateway has ended.
        """
        self._books.purses[session] = purse
        self._gateway.order(
            lambda number: BeginSession(id=number, cell=self._name, session=session, turns=turns)
        )

    def traffic(self) -> CellTraffic:
        """What was asked for up to now; complete once the cell is closed."""
        return CellTraffic(records=tuple(self._books.records))

    def close(self) -> CellTraffic:
        """End what is under way, remove the socket, and say what was asked for. Never raises: what a broken gateway
        left open is charged at its ceiling.
        """
        return self._gateway.close_cell(self._name, self._books)


class Gateway:
    """A running gateway. All methods may be called from any thread."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self._lock = threading.Lock()
        self._pending: dict[int, _Order] = {}
        self._orders = 0
        self._cells: dict[str, _Books] = {}
        self._holds: dict[int, tuple[str, Hold]] = {}
        self._ours, self._theirs = socket.socketpair()
        self._alive, self._end = os.pipe()
        # a file, not a pipe: nobody reads it before the end
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop
        self._process: subprocess.Popen[bytes] | None = None
        self._over = threading.Event()
        self._started = _Order()
        # the kernel ends a child with the thread that made it: so this one makes it, and stays
        self._thread = threading.Thread(target=self._run, name="gateway", daemon=True)

    def start(self) -> None:
        """Start the process. GatewayError says why it cannot serve."""
        self._pending[0] = self._started
        self._thread.start()
        error = self._started.wait(_START_SECONDS)
        if error is not None:
            self.stop()
            raise GatewayError(error)

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid if self._process else 0

    def open_cell(self, name: str, task: str, folder: Path) -> GatewayCell:
        """Make a cell's socket in `folder`, which is private to it. GatewayBroken if that fails."""
        books = _Books()
        with self._lock:
            if name in self._cells:
                raise ValueError(f"cell {name!r} is open")
            self._cells[name] = books
        try:
            self.order(
                lambda number: OpenCell(id=number, cell=name, task=task, folder=str(folder), name=SOCKET_NAME)
            )
        except GatewayBroken:
            with self._lock:
                del self._cells[name]
            raise
        return GatewayCell(self, name, folder / SOCKET_NAME, books)

    def close_cell(self, name: str, books: _Books) -> CellTraffic:
        """Close a cell; see GatewayCell.close."""
        try:
            self.order(lambda number: CloseCell(id=number, cell=name))
        except GatewayBroken:
            self._charge_open_holds(name)
        with self._lock:
            self._cells.pop(name, None)
        return CellTraffic(records=tuple(books.records))

    def order(self, make: "Callable[[int], FromRun]") -> None:
        """Give an order and wait until it is carried out. GatewayBroken if it is not."""
        pending = _Order()
        with self._lock:
            self._orders += 1
            number = self._orders
            self._pending[number] = pending
        self._say(make(number))
        error = "it has ended" if self._over.is_set() else pending.wait(_ORDER_SECONDS)
        with self._lock:
            self._pending.pop(number, None)
        if error is not None:
            raise GatewayBroken(f"the model gateway did not do what it was asked for: {error}")

    def stop(self) -> None:
        """End the process and wait until it is gone."""
        with suppress(OSError):  # it may be gone
            self._ours.shutdown(socket.SHUT_WR)
        os.close(self._end)
        self._thread.join()
        self._ours.close()
        self._errors.close()

    def _run(self) -> None:
        """The thread: the process's whole life, its questions and reports."""
        try:
            self._process = self._spawn()
        except OSError as error:
            self._finish(f"the gateway cannot be started: {error}")
            return
        try:
            self._say(self._begin)
            self._listen()
            said = _last_words(self._process, self._errors)
            self._finish(f"it ended with {self._process.returncode}{said}")
        finally:
            self._finish("a purse or the line to it broke")  # a bug: its traceback is printed
            self._process.kill()
            self._process.wait()

    def _listen(self) -> None:
        decoder, lines = msgspec.json.Decoder(FromGateway), Lines()
        while data := self._receive():
            for line in lines.feed(data):
                self._take(decoder.decode(line))

    def _spawn(self) -> subprocess.Popen[bytes]:
        """The process: an empty environment, no arguments but two descriptors."""
        try:
            return subprocess.Popen(
                (
                    sys.executable,
                    "-I",
                    "-m",
                    "bench.gateway.server",
                    str(self._theirs.fileno()),
                    str(self._alive),
                ),
                env={},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=(self._theirs.fileno(), self._alive),
                start_new_session=True,
            )
        finally:
            self._theirs.close()
            os.close(self._alive)

    def _receive(self) -> bytes:
        try:
            return self._ours.recv(_PIECE)
        except OSError:
            return b""

    def _say(self, message: FromRun) -> None:
        try:
            with self._lock:
                self._ours.sendall(line_of(message))
        except OSError:
            self._over.set()

    def _take(self, message: FromGateway) -> None:
        match message:
            case Done():
                pending = self._pending.get(message.id)
                if pending is not None:
                    pending.finish(message.error)
            case Reserve():
                self._say(self._granted(message))
            case Settle():
                held = self._holds.pop(message.hold, None)
                if held is not None:
                    held[1].settle(message.usage)
            case Recorded():
                books = self._cells.get(message.cell)
                if books is not None:
                    books.records.append(message.record)

    def _granted(self, asked: Reserve) -> Granted:
        """Ask the purse of the session; a request outside of any session is not paid."""
        books = self._cells.get(asked.cell)
        purse = books.purses.get(asked.session) if books else None
        if purse is None:
            return Granted(hold=asked.hold, refused="no session is under way in this cell")
        hold = purse.reserve(asked.ceiling)
        if isinstance(hold, Refused):
            return Granted(hold=asked.hold, refused=hold.reason)
        self._holds[asked.hold] = (asked.cell, hold)
        return Granted(hold=asked.hold)

    def _charge_open_holds(self, cell: str | None) -> None:
        """What a gateway that is gone left open is charged at its ceiling."""
        self._thread.join()
        for number, (owner, hold) in list(self._holds.items()):
            if cell in (None, owner):
                del self._holds[number]
                hold.settle(None)

    def _finish(self, reason: str) -> None:
        self._over.set()
        with self._lock:
            waiting = list(self._pending.values())
        for pending in waiting:
            pending.finish(reason)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._charge_open_holds(None)


class _Order:
    """An order that somebody waits for."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._error: str | None = None

    def finish(self, error: str | None) -> None:
        if not self._done.is_set():
            self._error = error
            self._done.set()

    def wait(self, seconds: float) -> str | None:
        """None when it was carried out, else why not."""
        if not self._done.wait(seconds):
            return f"it did not answer within {seconds:g} s"
        return self._error


@contextmanager
def open_gateway(config: GatewayConfig, environment: Mapping[str, str]) -> Iterator[Gateway]:
    """A gateway as configured, while the block lasts; `environment` holds the key that the configuration names.

    GatewayError, before anything is paid, for a missing key, a malformed script, nothing to replay.
    """
    key = resolved_key(config, environment)
    script: Script | None = None if config.script is None else read_script(Path(config.script))
    secrets_told = (key,) if key else ()
    gateway = Gateway(Begin(config=config, key=key, secrets=secrets_told, script=script))
    gateway.start()
    with gateway:
        yield gateway


def _last_words(process: subprocess.Popen[bytes], errors: IO[bytes]) -> str:
    """What a gateway that broke said at its end."""
    code = process.wait()
    if code == 0:
        return ""
    errors.seek(0)
    said = errors.read()[-_LAST_WORDS:].decode("utf-8", "replace").strip()
    return f": {said}" if said else ""

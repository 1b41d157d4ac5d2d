"""A gateway with real sockets and processes, and providers that are real HTTP servers: only the model is faked."""

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.gateway import (
    Gateway,
    GatewayConfig,
    GatewayLimits,
    ModelProtocol,
    ServedModel,
    UpstreamConfig,
    open_gateway,
)

KEY = "real-key-0123456789abcdefghij"  # looks like nothing that a rule without it would know
MODEL = ServedModel(id="model-1", context=200_000, most_output=8_000)
PATHS: dict[ModelProtocol, str] = {
    "anthropic_messages": "/v1/messages",
    "openai_responses": "/v1/responses",
    "openai_chat": "/v1/chat/completions",
}
PROTOCOLS = tuple(PATHS)


class Got(Struct, frozen=True):
    """What a client received. `broken` if the connection ended before the answer did."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    broken: bool = False

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Seen(Struct, frozen=True):
    """What a provider received."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class Client(http.client.HTTPConnection):
    """A client on a cell's socket."""

    def __init__(self, path: Path, timeout: float = 30.0) -> None:
        super().__init__("cell", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(short(self._path))

    def ask(
        self, path: str, body: bytes | Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> Got:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.request("POST", path, content, dict(headers or {}))
        return self.answer()

    def look(self, path: str, headers: Mapping[str, str] | None = None) -> Got:
        self.request("GET", path, headers=dict(headers or {}))
        return self.answer()

    def answer(self) -> Got:
        response = self.getresponse()
        try:
            body, broken = response.read(), False
        except http.client.IncompleteRead as error:
            body, broken = error.partial, True
        return Got(response.status, {k.lower(): v for k, v in response.getheaders()}, body, broken)


def short(path: Path) -> str:
    """A socket's path, which tests may make longer than the system takes."""
    return str(path)


def ask(path: Path, target: str, body: bytes | Mapping[str, Any], **headers: str) -> Got:
    """One request on a connection of its own."""
    client = Client(path)
    try:
        return client.ask(target, body, {name.replace("_", "-"): value for name, value in headers.items()})
    finally:
        client.close()


def request(
    protocol: ModelProtocol, text: str = "hi", *, stream: bool = False, **more: Any
) -> dict[str, Any]:
    """A small request."""
    limits = {"anthropic_messages": "max_tokens", "openai_responses": "max_output_tokens"}
    limit = limits.get(protocol, "max_completion_tokens")
    content: dict[str, Any] = (
        {"input": text}
        if protocol == "openai_responses"
        else {"messages": [{"role": "user", "content": text}]}
    )
    return {"model": MODEL.id, limit: 100, "stream": stream, **content, **more}


Behaviour = Callable[[socket.socket, Seen], None]


class Provider:
    """A provider: an HTTP/1.1 server whose answers are a function on the raw connection."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.seen: list[Seen] = []
        self._behaviour = behaviour
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listening.getsockname()[1]
        self.base = f"http://127.0.0.1:{self.port}/v1"
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join()
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self._open.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as file, suppress(OSError):
            while (seen := _read_request(file)) is not None:
                self.seen.append(seen)
                self._behaviour(connection, seen)


def _read_request(file: Any) -> Seen | None:
    first = file.readline()
    if not first:
        return None
    headers: dict[str, str] = {}
    while (line := file.readline().strip()) != b"":
        name, _, value = line.partition(b":")
        headers[name.decode().lower()] = value.strip().decode()
    body = file.read(int(headers.get("content-length", "0")))
    return Seen(first.split()[1].decode(), headers, body)


def whole(
    body: bytes | Mapping[str, Any], status: int = 200, kind: str = "application/json", **headers: str
) -> Behaviour:
    """An answer with a length."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(content)}\r\n{more}\r\n"
    return lambda connection, _seen: connection.sendall(head.encode() + content)


def streamed(*pieces: bytes, cut: bool = False) -> Behaviour:
    """Server-sent events in chunks; `cut` breaks the connection instead of ending them."""

    def behave(connection: socket.socket, _seen: Seen) -> None:
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        for piece in pieces:
            connection.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        if cut:
            connection.shutdown(socket.SHUT_RDWR)
        else:
            connection.sendall(b"0\r\n\r\n")

    return behave


@contextmanager
def provider(behaviour: Behaviour) -> Iterator[Provider]:
    server = Provider(behaviour)
    try:
        yield server
    finally:
        server.close()


def provider_config(base: str, folder: Path, **upstream: Any) -> GatewayConfig:
    """A gateway before a provider that speaks every protocol."""
    return GatewayConfig(
        upstream=UpstreamConfig(
            kind=upstream.pop("kind", "openai_compatible"),
            base_url=base,
            key="secret://env/REAL_KEY",
            **upstream,
        ),
        models=(MODEL,),
        record=str(folder / "cassettes"),
    )


def script_config(folder: Path, *replies: Mapping[str, Any], **limits: Any) -> GatewayConfig:
    """A gateway before a script."""
    path = folder / "script.yaml"
    path.write_text(json.dumps({"schema": "script/1", "replies": list(replies)}), encoding="utf-8")
    return GatewayConfig(
        upstream=UpstreamConfig(kind="scripted"),
        models=(MODEL,),
        record=str(folder / "cassettes"),
        script=str(path),
        limits=GatewayLimits(**limits),
    )


@contextmanager
def opened(config: GatewayConfig) -> Iterator[Gateway]:
    with open_gateway(config, {"REAL_KEY": KEY}) as gateway:
        yield gateway

"""What the model gateway costs: added latency on loopback, start-up, memory.

The provider is a server of this machine that answers at once. Direct requests and those through the gateway (and, in
a cell, through the forwarder) take turns, so that noise hits both alike. The gateway proves ceilings, asks a purse,
counts usage and records, as in a run. Requests come 20 ms apart, as no agent asks faster: what is measured is the way
of one request, not the queue behind the recording of the last.
"""

import http.client
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from litellm_proxy import Proxy, measured
from measuring import MILLISECONDS, Line, milliseconds

from bench.gateway import (
    Allowance,
    Gateway,
    GatewayConfig,
    Limit,
    ServedModel,
    TokenTariff,
    UpstreamConfig,
    open_gateway,
)

_REQUESTS = 400
_WARM = 20
_PAUSE = 0.02
_MEDIAN_BAR = 1.0
_TAIL_BAR = 5.0
_STARTS = 5
_TENTH = 0.1
_PROVIDER = """
import socket, sys, threading
parts = [
    '{"type":"message_start","message":{"model":"m","usage":{"input_tokens":9,"cache_creation_input_tokens":0,'
    '"cache_read_input_tokens":0,"output_tokens":1}}}',
    *['{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}'] * 20,
    '{"type":"message_delta","usage":{"output_tokens":20}}',
    '{"type":"message_stop"}',
]
events = "".join("data: " + part + "\\n\\n" for part in parts).encode()
head = b"HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\ncontent-length: %d\\r\\n\\r\\n" % len(events)
def serve(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection, connection.makefile("rb") as file:
        while file.readline():
            size = 0
            while (line := file.readline().strip()):
                if line.lower().startswith(b"content-length:"):
                    size = int(line.split(b":")[1])
            file.read(size)
            connection.sendall(head + events)
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), __import__("os")._exit(0)), daemon=True).start()
while True:
    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()
"""


class _Local(http.client.HTTPConnection):
    """A client on a unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("cell")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def of_the_gateway() -> Iterator[Line]:
    """Latency of small and of real-sized requests, start-up and memory."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = stack.enter_context(_provider())
        gateway = stack.enter_context(open_gateway(_config(port, folder), {}))
        cell = gateway.open_cell("cell", "task", folder)
        cell.begin("work", Allowance([Limit("tokens", 10**12, TokenTariff())]))
        for name, size in (("small request", 100), ("88 KB, as Claude Code sends", 88_000)):
            yield from _latency(name, size, port, cell.socket)
        peak = _memory(gateway)
        started = _start(port)
    yield from _beside_a_proxy(started, peak, measured())


def _latency(name: str, size: int, port: int, path: Path) -> Iterator[Line]:
    body = json.dumps(
        {
            "model": "m",
            "max_tokens": 100,
            "stream": True,
            "messages": [{"role": "user", "content": "word " * (size // 5)}],
        }
    ).encode()
    direct, through = [], []
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as plain, closing(_Local(path)) as local:
        for number in range(_REQUESTS + _WARM):
            times = (_timed(plain, body), _timed(local, body))
            time.sleep(_PAUSE)
            if number >= _WARM:
                direct.append(times[0])
                through.append(times[1])
    for what, pick, bar in (("p50", statistics.median, _MEDIAN_BAR), ("p99", _ninety_ninth, _TAIL_BAR)):
        added = pick(through) - pick(direct)
        yield Line(
            what=f"gateway, {name}: added {what}",
            measured=milliseconds(pick(through)),
            baseline=f"{milliseconds(pick(direct))} direct",
            value=added * MILLISECONDS,
            bar=bar,
            unit="ms",
        )


def _memory(gateway: Gateway) -> int:
    status = Path(f"/proc/{gateway.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) * 1024


def _start(port: int) -> float:
    samples = []
    for _ in range(_STARTS):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            with open_gateway(_config(port, Path(folder)), {}):
                samples.append(time.perf_counter() - began)
    return statistics.median(samples)


def _beside_a_proxy(started: float, peak: int, proxy: Proxy | str) -> Iterator[Line]:
    """Start and memory, as parts of a LiteLLM proxy's; without one they are only told, with the reason."""
    bar = _TENTH if isinstance(proxy, Proxy) else None
    yield Line(
        what="gateway, start to ready",
        measured=milliseconds(started),
        baseline=f"{proxy.seconds:.1f} s LiteLLM proxy" if isinstance(proxy, Proxy) else proxy,
        value=started / proxy.seconds if isinstance(proxy, Proxy) else None,
        bar=bar,
    )
    yield Line(
        what="gateway, most memory after these",
        measured=f"{peak / 1e6:.1f} MB",
        baseline=f"{proxy.memory / 1e6:.0f} MB LiteLLM proxy" if isinstance(proxy, Proxy) else proxy,
        value=peak / proxy.memory if isinstance(proxy, Proxy) else None,
        bar=bar,
    )


class _provider:  # noqa: N801 - used like a function
    """A server that answers at once, in a process of its own."""

    def __enter__(self) -> int:
        self._process = subprocess.Popen(
            (sys.executable, "-c", _PROVIDER), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout
        return int(self._process.stdout.readline())

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def _config(port: int, folder: Path) -> GatewayConfig:
    upstream = UpstreamConfig(kind="openai_compatible", base_url=f"http://127.0.0.1:{port}/v1")
    model = ServedModel(id="m", context=200_000, most_output=8000)
    return GatewayConfig(upstream=upstream, models=(model,), record=str(folder / "cassettes"))


def _timed(client: http.client.HTTPConnection, body: bytes) -> float:
    began = time.perf_counter()
    client.request("POST", "/v1/messages", body)
    answer = client.getresponse()
    answer.read()
    assert answer.status == http.client.OK
    return time.perf_counter() - began


def _ninety_ninth(samples: list[float]) -> float:
    quantile: Callable[..., list[float]] = statistics.quantiles
    return quantile(samples, n=100)[98]

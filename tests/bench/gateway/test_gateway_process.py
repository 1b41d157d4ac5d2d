"""The gateway's process and its clients: what is left behind, what is bounded, who can hold up whom."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from gateway_rig import (
    KEY,
    PATHS,
    Client,
    ask,
    opened,
    provider,
    provider_config,
    request,
    script_config,
    whole,
)  # fmt: skip
from msgspec.structs import replace

from bench.errors import GatewayBroken, GatewayError
from bench.gateway import (
    CellTraffic,
    GatewayCell,
    GatewayConfig,
    GatewayLimits,
    UnlimitedPurse,
    UpstreamConfig,
    open_gateway,
)

USAGE = {"input": 2, "cache_read": 0, "cache_write": 0, "output": 3}
FINE = {"reply": {"text": "ok", "usage": USAGE}}
RUN = """
import os, sys, time
from pathlib import Path
from gateway_rig import script_config
from bench.gateway import open_gateway, UnlimitedPurse
folder = Path(sys.argv[1])
with open_gateway(script_config(folder, {"reply": {"fault": "hang_before_headers"}}), {}) as gateway:
    for number in range(3):
        (folder / f"c{number}").mkdir()
        gateway.open_cell(f"c{number}", "t", folder / f"c{number}").begin("work", UnlimitedPurse())
    print(gateway.pid, flush=True)
    sys.stdin.read()
"""


def gone(pid: int, seconds: float = 10.0) -> bool:
    """Whether a process ends, waited for by its handle."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    import select

    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_killed_leaves_neither_process_nor_socket(number: int, tmp_path: Path) -> None:
    run = subprocess.Popen(
        (sys.executable, "-c", RUN, str(tmp_path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )
    assert run.stdin
    assert run.stdout
    pid = int(run.stdout.readline())
    hanging = Client(tmp_path / "c0" / "model.sock")
    hanging.request("POST", PATHS["openai_chat"], b'{"model":"model-1"}')
    assert len(list(tmp_path.glob("c*/model.sock"))) == 3
    run.send_signal(number)
    run.wait()
    assert gone(pid)
    assert list(tmp_path.glob("c*/model.sock")) == []
    for each in (run.stdin, run.stdout, hanging):
        each.close()


def test_a_gateway_that_was_stopped_when_its_run_died_dies_once_it_goes_on(tmp_path: Path) -> None:
    run = subprocess.Popen(
        (sys.executable, "-c", RUN, str(tmp_path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )
    assert run.stdin
    assert run.stdout
    pid = int(run.stdout.readline())
    os.kill(pid, signal.SIGSTOP)
    run.kill()
    run.wait()
    os.kill(pid, signal.SIGCONT)
    assert gone(pid)
    run.stdin.close()
    run.stdout.close()


def test_the_process_has_neither_environment_nor_key_in_its_arguments(tmp_path: Path) -> None:
    with opened(provider_config("http://127.0.0.1:1/v1", tmp_path)) as gateway:
        process = Path(f"/proc/{gateway.pid}")
        assert (process / "environ").read_bytes() == b""
        assert KEY.encode() not in (process / "cmdline").read_bytes()


def test_a_socket_is_only_its_owners_and_goes_with_its_cell(tmp_path: Path) -> None:
    folder = tmp_path / ("deep" * 40)
    folder.mkdir()
    with opened(script_config(tmp_path, FINE)) as gateway:
        cell = gateway.open_cell("c", "t", folder)
        assert cell.socket.stat().st_mode & 0o077 == 0
        cell.close()
        assert list(folder.iterdir()) == []
        assert cell.close() == CellTraffic(records=())


def test_eight_cells_at_once_each_have_their_own_totals(tmp_path: Path) -> None:
    with opened(script_config(tmp_path, FINE)) as gateway:
        cells = []
        for number in range(8):
            (tmp_path / f"c{number}").mkdir()
            cells.append(gateway.open_cell(f"c{number}", "t", tmp_path / f"c{number}"))

        def work(number: int, cell: GatewayCell) -> None:
            for session in ("plan", "work"):
                cell.begin(session, UnlimitedPurse())
                with closing(Client(cell.socket)) as client:
                    for _ in range(5 + number):
                        assert (
                            client.ask(
                                PATHS["openai_responses"], request("openai_responses", stream=True)
                            ).status
                            == 200
                        )

        threads = [threading.Thread(target=work, args=pair) for pair in enumerate(cells)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number, cell in enumerate(cells):
            traffic = cell.close()
            for session in ("plan", "work"):
                assert traffic.requests(session) == 5 + number
                assert traffic.usage(session).total_input == 2 * (5 + number)
            assert traffic.usage().output == 2 * 3 * (5 + number)
            assert traffic.first_cause() is None


def test_a_request_of_50_megabytes_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    big = b'{"model":"model-1","messages":"' + b"x" * (50 * 1024 * 1024) + b'"}'
    with opened(script_config(tmp_path, FINE)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", UnlimitedPurse())
        before = peak(gateway.pid)
        got = ask(cell.socket, PATHS["anthropic_messages"], big)
        chunked = Client(cell.socket)
        chunked.request("POST", PATHS["openai_chat"], iter([big[:10], big[10:]]), encode_chunked=True,
                        headers={"Transfer-Encoding": "chunked"})  # fmt: skip
        assert chunked.answer().status == 413
        chunked.close()
        assert (got.status, got.json["error"]["type"]) == (413, "request_too_large")
        assert ask(cell.socket, PATHS["openai_chat"], request("openai_chat")).status == 200
        assert peak(gateway.pid) - before < 100 * 1024 * 1024
        assert [each.cause for each in cell.close().records] == ["too-large", "too-large", None]


def peak(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) * 1024


def test_a_client_that_is_slow_on_purpose_is_let_go_and_holds_up_nobody(tmp_path: Path) -> None:
    with opened(script_config(tmp_path, FINE, patience=0.5, connections=8)) as gateway:
        cells = []
        for name in ("slow", "other"):
            (tmp_path / name).mkdir()
            cell = gateway.open_cell(name, "t", tmp_path / name)
            cell.begin("work", UnlimitedPurse())
            cells.append(cell)
        slow = [
            raw(cells[0].socket, b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-a: ") for _ in range(8)
        ]
        assert ask(cells[1].socket, PATHS["openai_chat"], request("openai_chat")).status == 200
        for connection in slow:
            assert connection.recv(1) == b""  # let go after its head did not come
            connection.close()
        body = raw(
            cells[0].socket, b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{"
        )
        assert body.recv(12) == b"HTTP/1.1 408" or body.recv(12) == b""
        body.close()


def raw(path: Path, content: bytes) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(30)
    connection.connect(str(path))
    connection.sendall(content)
    return connection


def test_more_connections_than_a_cell_may_have_are_turned_away(tmp_path: Path) -> None:
    with opened(script_config(tmp_path, FINE, connections=2)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        kept = [Client(cell.socket) for _ in range(2)]
        for client in kept:
            assert client.look("/v1/models").status == 200
        # the gateway may have closed it before anything is sent
        with contextlib.suppress(ConnectionError), contextlib.closing(raw(cell.socket, b"")) as third:
            assert third.recv(1) == b""
        for client in kept:
            client.close()


def test_a_retry_storm_ends_at_the_limit_of_requests(tmp_path: Path) -> None:
    with opened(script_config(tmp_path, {"reply": {"error": {"status": 529}}}, requests=10)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", UnlimitedPurse())
        with closing(Client(cell.socket)) as client:
            answers = [
                client.ask(PATHS["anthropic_messages"], request("anthropic_messages")).status
                for _ in range(12)
            ]
        assert answers == [529] * 10 + [403] * 2
        assert cell.close().requests() == 10


def test_bytes_that_are_no_http_are_answered_with_400(tmp_path: Path) -> None:
    with opened(script_config(tmp_path, FINE)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        with closing(raw(cell.socket, b"\x16\x03\x01\x02\x00nonsense\r\n\r\n")) as connection:
            assert connection.recv(12) == b"HTTP/1.1 400"


def test_a_client_that_leaves_half_way_ends_the_request_and_is_charged_at_the_ceiling(tmp_path: Path) -> None:
    left = threading.Event()

    def endless(connection: socket.socket, _seen: object) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        connection.sendall(head + b"5\r\ndata:\r\n")
        if connection.recv(1) == b"":
            left.set()

    with provider(endless) as server, opened(provider_config(server.base, tmp_path)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", UnlimitedPurse())
        client = Client(cell.socket)
        client.request("POST", PATHS["openai_chat"], b'{"model":"model-1"}')
        assert client.getresponse().read(5) == b"data:"
        client.close()
        assert left.wait(30)
        record = cell.close().records[0]
    assert (record.cause, record.settled) == ("client-left", "ceiling")


def test_closing_a_cell_ends_what_hangs(tmp_path: Path) -> None:
    with opened(script_config(tmp_path, {"reply": {"fault": "hang_after_headers", "events": 1}})) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", UnlimitedPurse())
        client = Client(cell.socket)
        client.request("POST", PATHS["openai_chat"], b'{"model":"model-1","stream":true}')
        response = client.getresponse()
        began = time.monotonic()
        record = cell.close().records[0]
        assert time.monotonic() - began < 10
        assert (record.cause, record.settled, record.status) == ("stopped", "ceiling", 200)
        response.close()
        client.close()


def test_a_gateway_that_was_killed_is_told_as_broken(tmp_path: Path) -> None:
    with opened(script_config(tmp_path, FINE)) as gateway:
        cell = gateway.open_cell("c", "t", tmp_path)
        os.kill(gateway.pid, signal.SIGKILL)
        with pytest.raises(GatewayBroken):
            cell.begin("work", UnlimitedPurse())
        assert cell.close().records == ()


def test_a_folder_that_is_not_there_is_told_and_the_gateway_goes_on(tmp_path: Path) -> None:
    with opened(script_config(tmp_path, FINE)) as gateway:
        with pytest.raises(GatewayBroken, match="No such file"):
            gateway.open_cell("c", "t", tmp_path / "nowhere")
        gateway.open_cell("c", "t", tmp_path).begin("work", UnlimitedPurse())


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"kind": "anthropic", "key": None}, "needs a key"),
        ({"kind": "openai", "key": "secret://env/ABSENT"}, "ABSENT is not set"),
        ({"kind": "openai", "key": "secret://env/BLANK"}, "BLANK is not set"),
        ({"kind": "openai", "key": "secret://env/ODD"}, "ODD holds what no key holds"),
        ({"kind": "openai", "key": KEY}, "no reference to a secret"),
        ({"kind": "openai_compatible"}, "needs its base_url"),
        ({"kind": "openai_compatible", "base_url": "ftp://x/v1"}, "no plain http address"),
        ({"kind": "openai_compatible", "base_url": f"http://me:{KEY}@x/v1"}, "no plain http address"),
        ({"kind": "openai_compatible", "base_url": "http://x:99999/v1"}, "no plain http address"),
        ({"kind": "scripted"}, "needs a file of replies"),
        ({"kind": "replay"}, "needs a folder of cassettes"),
    ],
)
def test_what_cannot_work_is_told_before_anything_starts(
    changes: dict[str, str], told: str, tmp_path: Path
) -> None:
    upstream = UpstreamConfig(**changes)  # type: ignore[arg-type]
    config = replace(provider_config("http://x/v1", tmp_path), upstream=upstream)
    with pytest.raises(GatewayError, match=told) as error, open_gateway(config, {"BLANK": " ", "ODD": "a b"}):
        pass
    assert KEY not in str(error.value)


def test_a_key_that_the_provider_refuses_is_the_first_cause(tmp_path: Path) -> None:
    with (
        provider(whole({"error": {"message": "no"}}, 401)) as server,
        opened(provider_config(server.base, tmp_path)) as gateway,
    ):
        cell = gateway.open_cell("c", "t", tmp_path)
        cell.begin("work", UnlimitedPurse())
        ask(cell.socket, PATHS["openai_chat"], request("openai_chat"))
        first = cell.close().first_cause("work")
    assert first is not None
    assert first.cause == "key-refused"


def test_limits_have_defaults() -> None:
    assert GatewayLimits().request_bytes == 32 * 1024 * 1024
    assert (
        GatewayConfig(upstream=UpstreamConfig(kind="scripted"), models=(), record=None).limits
        == GatewayLimits()
    )

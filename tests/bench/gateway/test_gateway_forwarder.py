"""The forwarder in real bubblewrap: the only way out of a cell leads to its own socket."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from gateway_rig import (
    KEY,
    PATHS,
    Provider,
    opened,
    provider,
    provider_config,
    request,
    script_config,
    streamed,
    whole,
)
from msgspec import Struct

from bench.cancellation import Cancellation
from bench.config import LimitsConfig, SandboxConfig
from bench.gateway import CellTraffic, Gateway, GatewayCell, UnlimitedPurse, way_to
from bench.gateway.script import Reply
from bench.gateway.telling import tell
from bench.sandbox import BUBBLEWRAP, HOST, Command, End, ProcessResult, Sandbox, Writable, python_mounts

FACTORIES = {"bubblewrap": BUBBLEWRAP, "host": HOST}
AGENT = """
import http.client, json, os, sys
from urllib.parse import urlsplit
origin = urlsplit(os.environ["ANTHROPIC_BASE_URL"])
client = http.client.HTTPConnection(origin.hostname, origin.port, timeout=30)
for size in json.loads(sys.argv[1]):
    body = {"model": "model-1", "max_tokens": 5, "messages": [{"role": "user", "content": "x" * size}]}
    client.request("POST", "/v1/messages", json.dumps(body), {"x-api-key": os.environ["ANTHROPIC_API_KEY"]})
    answer = client.getresponse()
    print(answer.status, len(answer.read()))
"""
LOOK = r"""
import os, socket
def tried(what, action):
    try:
        action()
        print(what, "open")
    except OSError as error:
        print(what, "closed")
tried("outside", lambda: socket.create_connection(("192.0.2.1", 80), 2))
tried("host", lambda: socket.create_connection(("127.0.0.1", int(PORT)), 2))
tried("names", lambda: socket.getaddrinfo("example.com", 80))
print("routes", len(open("/proc/net/route").read().splitlines()) - 1)
print("capabilities", [line.split()[1] for line in open("/proc/self/status") if line.startswith("CapEff")][0])
print("gateway", sorted(os.listdir("/opt/gateway")))
found = []
for place in ("/proc/1", "/proc/self"):
    for name in ("environ", "cmdline"):
        found.append(open(f"{place}/{name}", "rb").read())
for folder, folders, files in os.walk("/"):
    folders[:] = [each for each in folders if os.path.join(folder, each) not in ("/usr", "/proc", "/sys", "/dev", "/opt/python")]
    for name in files:
        try:
            with open(os.path.join(folder, name), "rb") as file:
                found.append(file.read(200000))
        except OSError:
            pass
print("key", any(b"real-" + b"key" in each for each in found))
"""


class Place(Struct, frozen=True):
    """A cell in a sandbox."""

    sandbox: Sandbox
    folder: Path
    cell: GatewayCell


def make_place(gateway: Gateway, folder: Path, backend: str) -> Place:
    folder.mkdir(exist_ok=True)
    for name in ("workspace", "home", "temporary", "output"):
        (folder / name).mkdir()
    config = SandboxConfig(
        name=backend,
        workspace="auto",
        scratch=str(folder),
        limits=LimitsConfig(memory_mb=None, processes=None, file_mb=None, open_files=None),
        accept_no_containment=True,
    )
    cell = gateway.open_cell(folder.name, "t", folder)
    cell.begin("work", UnlimitedPurse())
    return Place(FACTORIES[backend].create(config), folder, cell)


def run(
    place: Place, source: str, *arguments: str, seconds: float = 60.0, prefix: bool = True
) -> ProcessResult:
    layout = place.sandbox.layout(place.folder)
    way = way_to(place.cell, layout)
    python = way.prefix[0]
    command = Command(
        argv=(*(way.prefix if prefix else ()), python, "-I", "-S", "-c", source, *arguments),
        directory=layout.workspace,
        environment={"PATH": "/usr/bin:/bin", **way.environment("anthropic_messages")},
        mounts=(Writable(place.folder / "workspace", layout.workspace), *way.mounts),
        seconds=seconds,
    )
    with Cancellation() as cancellation:
        return place.sandbox.run(command, cancellation)


def said(result: ProcessResult) -> list[str]:
    assert result.succeeded, result.account()
    return result.stdout.text().splitlines()


@pytest.mark.parametrize("backend", FACTORIES)
def test_requests_from_a_cell_reach_its_socket_small_and_large(backend: str, tmp_path: Path) -> None:
    answer = {"text": "y" * 3_000_000, "usage": {"input": 1, "cache_read": 0, "cache_write": 0, "output": 1}}
    with opened(script_config(tmp_path, {"reply": answer})) as gateway:
        place = make_place(gateway, tmp_path / "c", backend)
        lines = said(run(place, AGENT, json.dumps([1, 5_000_000, 100])))
        traffic = place.cell.close()
    assert [line.split()[0] for line in lines] == ["200"] * 3
    assert all(int(line.split()[1]) > 3_000_000 for line in lines)
    assert traffic.requests("work") == 3
    assert traffic.records[1].bytes_in > 5_000_000


def test_a_cell_has_no_other_way_out_and_holds_no_key(tmp_path: Path) -> None:
    with provider(whole({})) as server, opened(provider_config(server.base, tmp_path)) as gateway:
        place = make_place(gateway, tmp_path / "c", "bubblewrap")
        other = make_place(gateway, tmp_path / "d", "bubblewrap")
        lines = said(run(place, f"PORT = {server.port}\n{LOOK}"))
        other.cell.close()
    assert lines == [
        "outside closed",
        "host closed",
        "names closed",
        "routes 0",
        "capabilities 0000000000000000",
        "gateway ['forward.py', 'model.sock']",
        "key False",
    ]


@pytest.mark.parametrize("backend", FACTORIES)
@pytest.mark.parametrize(
    ("source", "code"), [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", None)]
)
def test_the_agents_end_is_the_commands(backend: str, source: str, code: int | None, tmp_path: Path) -> None:
    with opened(script_config(tmp_path, {"reply": {}})) as gateway:
        place = make_place(gateway, tmp_path / "c", backend)
        result = run(place, source)
    assert (result.end, result.code) == (End.KILLED if code is None else End.EXITED, code)


def test_an_agent_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    with opened(script_config(tmp_path, {"reply": {}})) as gateway:
        place = make_place(gateway, tmp_path / "c", "bubblewrap")
        layout = place.sandbox.layout(place.folder)
        way = way_to(place.cell, layout)
        command = Command(
            argv=(*way.prefix, "/nowhere/agent"),
            directory="/",
            environment={},
            mounts=way.mounts,
            seconds=30.0,
        )
        with Cancellation() as cancellation:
            result = place.sandbox.run(command, cancellation)
    assert result.code == 127
    assert "cannot start /nowhere/agent" in result.stderr.text()


@pytest.mark.parametrize("backend", FACTORIES)
def test_being_asked_to_end_reaches_the_agent(backend: str, tmp_path: Path) -> None:
    source = (
        "import signal, sys\n"
        "def end(*_): print('asked', flush=True); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\nprint('ready', flush=True)\nsignal.pause()"
    )
    with opened(script_config(tmp_path, {"reply": {}})) as gateway:
        place = make_place(gateway, tmp_path / "c", backend)
        result = run(place, source, seconds=2.0)
    assert result.stdout.text().split() == ["ready", "asked"]


def test_a_broken_answer_breaks_in_the_cell_and_the_next_request_works(tmp_path: Path) -> None:
    source = AGENT.replace("print(answer.status, len(answer.read()))", (
        "\n    try: print(len(answer.read()))\n    except (http.client.IncompleteRead, ConnectionError): print('broken')\n    client.close()"
    ))  # fmt: skip
    cut = {"reply": {"fault": "cut", "text": "x"}, "times": 1}
    with opened(script_config(tmp_path, cut, {"reply": {"text": "fine"}})) as gateway:
        place = make_place(gateway, tmp_path / "c", "bubblewrap")
        source = source.replace('"max_tokens": 5', '"max_tokens": 5, "stream": True')
        lines = said(run(place, source, "[1, 1]"))
    assert lines[0] == "broken"
    assert int(lines[1]) > 100


def test_eight_cells_at_once_in_their_sandboxes(tmp_path: Path) -> None:
    import threading

    parts = tell("anthropic_messages", Reply(text="ok"), "m", "x", stream=True).parts
    results: dict[str, Any] = {}
    with ExitStack() as stack:
        server: Provider = stack.enter_context(provider(streamed(*parts)))
        gateway = stack.enter_context(opened(provider_config(server.base, tmp_path)))
        places = [make_place(gateway, tmp_path / f"c{number}", "bubblewrap") for number in range(8)]

        def work(place: Place) -> None:
            results[place.folder.name] = said(run(place, AGENT, "[1, 2, 3]"))

        threads = [threading.Thread(target=work, args=(place,)) for place in places]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        traffics: list[CellTraffic] = [place.cell.close() for place in places]
    assert len(results) == 8
    assert [each.requests() for each in traffics] == [3] * 8
    assert {seen.headers["x-api-key"] for seen in server.seen} == {KEY}


def test_the_way_says_where_each_protocols_clients_look(tmp_path: Path) -> None:
    with opened(script_config(tmp_path, {"reply": {}})) as gateway:
        place = make_place(gateway, tmp_path / "c", "bubblewrap")
        way = way_to(place.cell, place.sandbox.layout(place.folder))
    assert way.environment("anthropic_messages")["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8787"
    assert way.environment("openai_responses")["OPENAI_BASE_URL"] == "http://127.0.0.1:8787/v1"
    assert way.token.startswith("cell-")
    assert way.prefix[0] == python_mounts()[0]
    assert request("openai_chat")["model"] == "model-1"
    assert PATHS["openai_chat"].startswith("/v1/")

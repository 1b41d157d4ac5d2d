"""Cells whose agent asks a model through the gateway: what the provider gets, and what else exists for the agent."""

import gzip
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cell_project import CellProject

from bench.cli import main
from bench.results import ObjectStore, Row, read_rows

KEY = "planted-odd-7f3a9c21d4e85b60"  # looks like nothing that a rule without it would know
ENVIRONMENT = "planted-environment-52c1"
ANSWER = {
    "model": "our-model",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2},
}
MODEL = """\
defaults:
  - none
  - _self_
name: ours
id: our-model
provider: us
upstream: openai_compatible
base_url: http://127.0.0.1:{port}/v1
key: ${secret:OUR_KEY}
context: 10000
max_output: 100
"""
# What every agent here has: `ask` a model, and `seen`, all that a process of the cell can read.
TOOLS = r"""
import re, socket, stat, urllib.error, urllib.request
def ask():
    target = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    body = {"model": "our-model", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    request = urllib.request.Request(target, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, str(answer.headers) + answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, str(error.headers) + error.read().decode()
def content(path):
    try:
        with open(path, "rb") as file:
            return file.read(1_000_000)
    except OSError:
        return b""
def paths():
    for folder, folders, names in os.walk("/"):
        folders[:] = [each for each in folders if os.path.join(folder, each) not in ("/usr", "/proc", "/sys", "/dev")]
        yield from (os.path.join(folder, name) for name in names)
def seen():
    yield repr(dict(os.environ)).encode()
    for process in filter(str.isdigit, os.listdir("/proc")):
        yield from (content(f"/proc/{process}/{name}") for name in ("environ", "cmdline"))
    yield from (content(path) for path in paths() if not stat.S_ISSOCK(os.lstat(path).st_mode))
"""
Behaviour = Callable[[http.server.BaseHTTPRequestHandler], None]


class Keyed(http.server.ThreadingHTTPServer):
    """A provider that serves nobody without the key."""

    def __init__(self, behaviour: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), Desk)
        self.behaviour = behaviour
        self.served = self.refused = 0


class Desk(http.server.BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: Keyed

    def do_POST(self) -> None:  # the library's name
        self.rfile.read(int(self.headers["content-length"]))
        if self.headers["authorization"] == f"Bearer {KEY}":
            self.server.served += 1
            self.server.behaviour(self)
        else:
            self.server.refused += 1
            answers(403, "application/json", b"{}")(self)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def answers(status: int, kind: str, body: bytes, **headers: str) -> Behaviour:
    def behave(desk: http.server.BaseHTTPRequestHandler) -> None:
        desk.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
            desk.send_header(name, value)
        desk.end_headers()
        desk.wfile.write(body)

    return behave


SERVES = answers(200, "application/json", json.dumps(ANSWER).encode())
# providers that tell their client its key
ECHO = {
    "works": SERVES,
    "refused": answers(
        401, "application/json", json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()
    ),
    "page": answers(200, "text/html", f"<html>login with {KEY}</html>".encode()),
    "error-page": answers(502, "text/html", f"<html>{KEY} failed</html>".encode(), **{"x-request-id": KEY}),
    "redirect": answers(302, "text/html", f"<a href='?key={KEY}'>".encode(), Location=f"/v1/?key={KEY}"),
}


@contextmanager
def keyed(behaviour: Behaviour) -> Iterator[Keyed]:
    with Keyed(behaviour) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def bench(project: CellProject, server: Keyed, *more: str) -> tuple[Row, ...]:
    """Measure with the model of this server; all rows."""
    project.write("conf/model/ours.yaml", MODEL.replace("{port}", str(server.server_port)))
    paid = ["agent.options.calls_model=true", "model=ours", "budget.confirm=false"]
    main([*project.overrides(*paid, *more), "--root", str(project.root), "--json"])
    folder = max((project.root / "runs").glob("2*"))
    return read_rows(folder / "results.jsonl")[0]


def files_with(root: Path, word: bytes) -> list[Path]:
    """The files below a folder that hold a word, packed or not."""
    return [path for path in root.rglob("*") if path.is_file() and word in unpacked(path.read_bytes())]


def unpacked(content: bytes) -> bytes:
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


@pytest.fixture
def small(project: CellProject, monkeypatch: pytest.MonkeyPatch) -> CellProject:
    """A project with one task, and the key where a person has it."""
    monkeypatch.setenv("OUR_KEY", KEY)
    monkeypatch.setenv("PLANTED", ENVIRONMENT)
    project.tree({"a.txt": "first\n"})
    project.task("one", "test -e told.txt")
    project.arm("one")
    return project


@pytest.mark.parametrize("what", ECHO)
def test_a_key_reaches_its_provider_and_nothing_that_a_cell_or_a_run_keeps(
    what: str, small: CellProject, capfd: pytest.CaptureFixture[str]
) -> None:
    half = len(KEY) // 2
    small.agent(
        TOOLS
        + f"""
status, text = ask()
found = any(({KEY[:half]!r} + {KEY[half:]!r}).encode() in each for each in seen())
say(type="message", text=f"key in the cell {{found}}; {{status}} {{text}}")
print("a line of its own:", text, file=sys.stderr, flush=True)
open("told.txt", "w").write(text)
if status != 200 or "html" in text:
    say(type="result", status="error", message=text)
    sys.exit(1)
"""
    )
    with keyed(ECHO[what]) as server:
        rows = bench(small, server)
    assert (server.served, server.refused) == (1, 0)
    assert [row.outcome.kind for row in rows] == [None if what == "works" else "provider-error"]
    said = capfd.readouterr()
    assert KEY not in said.out + said.err
    assert files_with(small.root, b"key in the cell False")
    assert not files_with(small.root, b"key in the cell True")
    assert not files_with(small.root, KEY.encode())
    assert not files_with(small.scratch, KEY.encode())


LOOK = r"""
def closed(action):
    try:
        action()
    except OSError as error:
        return True
    return False
def status(name):
    return re.search(rf"^{name}:\s*(\S+)", content("/proc/self/status").decode(), re.M)[1]
ask()  # both cells are open now, and until the other one asks again
told = {
    "routes": len(content("/proc/net/route").splitlines()) - 1 + len(
        [line for line in content("/proc/net/ipv6_route").decode().splitlines() if line.split()[-1] != "lo"]),
    "interfaces": sorted(name for _, name in socket.if_nameindex()),
    "outside": closed(lambda: socket.create_connection(("192.0.2.1", 80), 2)),
    "names": closed(lambda: socket.getaddrinfo("example.com", 80)),
    "loopback": closed(lambda: socket.create_connection(("127.0.0.1", PORT), 2)),
    "first process": content("/proc/1/environ").decode(),
    "environment": any(HALVES.encode() in each for each in seen()),
    "capabilities": {int(status(name), 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} != {0},
    "privileges": status("NoNewPrivs"),
    "sockets": [path for path in paths() if stat.S_ISSOCK(os.lstat(path).st_mode)],
    "bound": [line.split()[7] for line in content("/proc/net/unix").decode().splitlines()[1:] if len(line.split()) > 7],
    "mounted": ["model.sock" in line for line in content("/proc/self/mountinfo").decode().splitlines()].count(True),
}
open("told.txt", "w").write("looked")
say(type="message", text=json.dumps(told))
ask()
"""
CONFINED = {
    "routes": 0, "interfaces": ["lo"], "outside": True, "names": True, "loopback": True, "first process": "",
    "environment": False, "capabilities": False, "privileges": "1", "sockets": ["/opt/gateway/model.sock"],
    "bound": [], "mounted": 1,
}  # fmt: skip


def test_beside_its_own_socket_a_cell_has_no_way_out_and_nothing_of_the_host(small: CellProject) -> None:
    small.task("two", "test -e told.txt")
    meet = threading.Barrier(2, timeout=60)

    def together(desk: http.server.BaseHTTPRequestHandler) -> None:
        meet.wait()
        SERVES(desk)

    with keyed(together) as server:
        words = f"PORT = {server.server_port}; HALVES = {ENVIRONMENT[:9]!r} + {ENVIRONMENT[9:]!r}\n"
        small.agent(TOOLS + words + LOOK)
        rows = bench(small, server, "workers=2", "sandbox=bubblewrap")
    assert server.served == 4
    for row in rows:
        stream = ObjectStore(small.root / "runs" / "objects").get(row.artifacts["transcript-work"].digest)
        told = [json.loads(line) for line in stream.splitlines()]
        assert json.loads(next(each["text"] for each in told if each["type"] == "message")) == CONFINED

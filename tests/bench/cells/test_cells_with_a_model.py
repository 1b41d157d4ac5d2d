"""Cells whose agent asks a model through the gateway: what the provider gets, and what else exists for the agent."""

import gzip
import http.server
import json
import threading
from pathlib import Path

import pytest
from cell_project import CellProject
from model_cells import KEY, SERVES, TOOLS, answers, bench, keyed

from bench.results import ObjectStore

ENVIRONMENT = "planted-environment-52c1"
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

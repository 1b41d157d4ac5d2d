"""A provider of a test's own, which wants a key, and cells whose agent asks it through the gateway."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cell_project import CellProject

from bench.cli import main
from bench.results import Row, read_rows

KEY = "planted-odd-7f3a9c21d4e85b60"  # looks like nothing that a rule without it would know
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
import re, socket, stat, urllib.error, urllib.parse, urllib.request
def ask(text="hi", **more):
    target = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    body = {"model": "our-model", "max_tokens": 5, "messages": [{"role": "user", "content": text}], **more}
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

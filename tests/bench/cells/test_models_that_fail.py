"""Everything that can go wrong between an agent and its model, and what the person is told of it."""

import http.server
import json
import socket

import pytest
from cell_project import CellProject
from model_cells import KEY, SERVES, TOOLS, Behaviour, answers, bench, keyed
from msgspec import Struct

from bench.results import ObjectStore

AGENT = """
try:
    status, text = ask({words})
except Exception as error:
    status, text = 0, type(error).__name__
open("told.txt", "w").write(text)
if status != 200:
    say(type="result", status="error", message=f"the model answered {status}")
    sys.exit(1)
"""
LEAVES = """
origin = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
body = json.dumps({"model": "our-model", "max_tokens": 5, "messages": []}).encode()
with socket.create_connection((origin.hostname, origin.port)) as connection:
    connection.sendall(b"POST /v1/chat/completions HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: %d\\r\\n\\r\\n" % len(body) + body)
    connection.recv(20)
"""
DONE = (
    b'data: {"model": "our-model", "usage": {"prompt_tokens": 9, "completion_tokens": 2}}\n\ndata: [DONE]\n\n'
)


def drops(desk: http.server.BaseHTTPRequestHandler) -> None:
    desk.close_connection = True
    desk.connection.shutdown(socket.SHUT_RDWR)


def drops_half_way(desk: http.server.BaseHTTPRequestHandler) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n"
    desk.wfile.write(head + b'{"model":')
    drops(desk)


def hangs(desk: http.server.BaseHTTPRequestHandler) -> None:
    desk.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{")
    desk.close_connection = desk.connection.recv(1) == b""


class Case(Struct, frozen=True):
    """What a provider or an agent does, how its cell ends, and what is said of it."""

    provider: Behaviour
    kind: str | None
    said: str
    agent: str = AGENT.replace("{words}", "")


def refused(status: int, message: str) -> Behaviour:
    return answers(status, "application/json", json.dumps({"error": {"message": message}}).encode())


PAGE = answers(200, "text/html; charset=utf-8", b"<html>login</html>")
NO_PROTOCOL = (
    "not-the-protocol: the answer is text/html, neither JSON nor events; does model.base_url name a server"
)
CASES = {
    "key refused": Case(
        refused(401, "bad key"),
        "provider-error",
        "key-refused: the provider answered 401: ... is the key that model.key names",
    ),
    "no such model": Case(
        refused(404, "no model our-model"),
        "provider-error",
        "the provider answered 404: ... no model our-model",
    ),
    "another model": Case(
        SERVES,
        "session-error",
        "model 'other' is not served here, only our-model",
        AGENT.replace("{words}", "model='other'"),
    ),
    "50 MB": Case(
        SERVES,
        "session-error",
        "a request may have 33554432 bytes, this one has 524",
        AGENT.replace("{words}", "'x' * (50 << 20)"),
    ),
    "dropped": Case(
        drops, "provider-error", "connection-dropped: 127.0.0.1:PORT did not answer: it closed the connection"
    ),
    "dropped half-way": Case(
        drops_half_way,
        "provider-error",
        "stream-cut: 127.0.0.1:PORT broke its answer off: ... 9 bytes, expected 900",
    ),
    "page": Case(PAGE, "provider-error", NO_PROTOCOL),
    "page, and nobody complains": Case(
        PAGE, "provider-error", NO_PROTOCOL, AGENT.replace("{words}", "").replace("!= 200", "== 0")
    ),
    "redirect": Case(
        answers(302, "text/html", b"moved", Location="/login"),
        "provider-error",
        "the provider answered 302: moved",
    ),
    "ends twice": Case(
        answers(200, "text/event-stream", DONE + b"data: [DONE]\n\n"), None, "two-terminals: a second [DONE]"
    ),
    "client leaves": Case(
        hangs, None, "client-left: the client closed its connection", LEAVES + "open('told.txt', 'w')\n"
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_went_wrong_between_an_agent_and_its_model_is_told(
    name: str, project: CellProject, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    case = CASES[name]
    monkeypatch.setenv("OUR_KEY", KEY)
    project.tree({"a.txt": "first\n"})
    project.task("one", "test -e told.txt")
    project.arm("one")
    project.agent(TOOLS + case.agent)
    with keyed(case.provider) as server:
        (row,) = bench(project, server)
    assert row.outcome.kind == case.kind
    log = ObjectStore(project.root / "runs" / "objects").get(row.artifacts["requests-work"].digest)
    asked = json.loads(log)
    parts = case.said.replace("PORT", str(server.server_port)).split("...")
    # a cell that is measured all the same tells it in the log of its requests
    for told in (
        (row.outcome.detail, capfd.readouterr().err)
        if case.kind
        else (f"{asked['cause']}: {asked['detail']}",)
    ):
        assert all(part.strip() in told for part in parts), told

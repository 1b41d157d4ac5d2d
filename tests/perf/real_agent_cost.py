"""What a cell costs beside its model: a real Claude Code in cells, against the same program run bare.

Both ask a server of this machine that answers at once, so that all the time is the program's and ours. They take
turns, so that noise hits both alike.
"""

import http.server
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measuring import Line, milliseconds
from projects import Quiet, make_project, one_file, scratch

from bench.agents.installed import Installed
from bench.gateway.script import Reply
from bench.gateway.telling import tell

sys.path.append(str(Path(__file__).parents[2]))
from tests.e2e.real_agents import real_agent

_TIMES = 7
_MODEL = "claude-haiku-4-5-20251001"
_REPLY = Reply(text="Done.", usage={"input": 9, "cache_read": 0, "cache_write": 0, "output": 2})
_ANSWER = b"".join(tell("anthropic_messages", _REPLY, _MODEL, "x", stream=True).parts)
_QUIET = (
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "DISABLE_AUTOUPDATER",
    "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING",
)  # fmt: skip


class _Desk(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(_ANSWER)))
        self.end_headers()
        self.wfile.write(_ANSWER)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def of_a_real_agent() -> Iterator[Line]:
    """The median of cells and of bare runs."""
    agent = real_agent("claude_code")
    with _provider() as port, scratch() as folder:
        cells, sessions, bare = [], [], []
        project = make_project(folder, one_file(folder))
        chosen = (
            "agent=claude_code", f"agent.options.program={agent.executable}", "model=claude_haiku_4_5",
            "model.upstream=openai_compatible", f"model.base_url=http://127.0.0.1:{port}/v1", "model.key=null",
            "budget.confirm=false", "repeats=1", "workers=1",
        )  # fmt: skip
        with project.ground(*chosen) as prepared:
            for _ in range(_TIMES):
                began = time.perf_counter()
                (row,) = prepared.sweep(Quiet())
                cells.append(time.perf_counter() - began)
                sessions.append(row.timings.sessions)
                bare.append(_bare(agent, port))
    alone = statistics.median(bare)
    for what, samples in (("a cell with Claude Code", cells), ("  its session alone", sessions)):
        taken = statistics.median(samples)
        yield Line(
            what=what, measured=milliseconds(taken), baseline=f"{milliseconds(alone)} bare {agent.version}",
            value=taken / alone,
        )  # fmt: skip


def _bare(agent: Installed, port: int) -> float:
    """Seconds of one run of the program, outside of any sandbox, in an empty home."""
    with tempfile.TemporaryDirectory() as home:
        words = (
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--model",
            _MODEL,
            "--strict-mcp-config",
        )
        environment = {
            **dict.fromkeys(_QUIET, "1"), "PATH": os.environ["PATH"], "HOME": home, "IS_SANDBOX": "1",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": "none",
        }  # fmt: skip
        began = time.perf_counter()
        done = subprocess.run(
            (str(agent.executable), *words, "--permission-mode", "bypassPermissions"),
            input=b"Do nothing.", cwd=home, env=environment, capture_output=True, check=True,
        )  # fmt: skip
        seconds = time.perf_counter() - began
    assert b'"subtype":"success"' in done.stdout
    return seconds


@contextmanager
def _provider() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Desk) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()

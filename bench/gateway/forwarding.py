"""How a session reaches its cell's socket: what is mounted, what its command line begins with, what it is told."""

import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bench.gateway.client import GatewayCell
from bench.gateway.model import ModelProtocol
from bench.sandbox import Layout, Mount, ReadOnly, python_mounts

_FOLDER = "/opt/gateway"
_PORT = 8787
_PROGRAM = Path(__file__).parent / "program" / "forward.py"


class Way(Struct, frozen=True, kw_only=True):
    """A session's way to its model. `prefix` goes before the agent's command line; `origin` is what its requests go
    to, without a path; `token` is a key that opens nothing.
    """

    prefix: tuple[str, ...]
    mounts: tuple[Mount, ...]
    origin: str
    token: str

    @property
    def versioned(self) -> str:
        """The base address for clients that add no version of their own: OpenAI's and those like it."""
        return f"{self.origin}/v1"

    def environment(self, protocol: ModelProtocol) -> Mapping[str, str]:
        """The variables by which the usual clients of a protocol find the gateway."""
        if protocol == "anthropic_messages":
            return {"ANTHROPIC_BASE_URL": self.origin, "ANTHROPIC_API_KEY": self.token}
        return {"OPENAI_BASE_URL": self.versioned, "OPENAI_API_KEY": self.token}


def way_to(cell: GatewayCell, layout: Layout) -> Way:
    """The way from inside a sandbox. Without containment the port is one of this machine's, free a moment ago."""
    python, interpreter = python_mounts() if layout.contained else (sys.executable, ())
    program, target = layout.seen(_PROGRAM, f"{_FOLDER}/forward.py"), f"{_FOLDER}/model.sock"
    port = _PORT if layout.contained else _free_port()
    listening = layout.seen(cell.socket, target)
    return Way(
        prefix=(python, "-I", "-S", program, str(port), listening, "--"),
        mounts=(*interpreter, ReadOnly(_PROGRAM, f"{_FOLDER}/forward.py"), ReadOnly(cell.socket, target)),
        origin=f"http://127.0.0.1:{port}",
        token=cell.token,
    )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port

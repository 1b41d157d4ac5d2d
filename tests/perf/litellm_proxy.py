"""A LiteLLM proxy as the baseline of the gateway: in a virtual environment of its own, never a dependency of ours."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

VERSION = "1.108.7"
_PLACE = Path(sys.prefix) / "litellm"
_INSTALL_SECONDS = 600
_START_SECONDS = 120
_CONFIG = """\
model_list:
  - model_name: m
    litellm_params: {model: openai/m, api_base: "http://127.0.0.1:9/v1", api_key: none}
"""


class Proxy(Struct, frozen=True):
    """Seconds until it answers, and the most bytes of memory up to then."""

    seconds: float
    memory: int


def measured() -> Proxy | str:
    """A start of it here and now, or why there is none."""
    try:
        program = _installed()
        with tempfile.TemporaryDirectory() as folder:
            return _started(program, Path(folder))
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        return f"no LiteLLM {VERSION}: {said.strip().splitlines()[-1] if said.strip() else error}"


def _installed() -> Path:
    """The program, from the package index the first time."""
    program = _PLACE / "bin" / "litellm"
    python = _PLACE / "bin" / "python"
    if not program.exists():
        _run(sys.executable, "-m", "venv", "--clear", str(_PLACE))
        _run(str(python), "-m", "pip", "install", "--quiet", f"litellm[proxy]=={VERSION}")
    return program


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=_INSTALL_SECONDS)


def _started(program: Path, folder: Path) -> Proxy:
    (folder / "config.yaml").write_text(_CONFIG)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    began = time.perf_counter()
    process = subprocess.Popen(
        (str(program), "--config", str(folder / "config.yaml"), "--host", "127.0.0.1", "--port", str(port)),
        env={
            "PATH": os.environ["PATH"], "HOME": str(folder), "LITELLM_MASTER_KEY": "sk-perf",
            "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while not _answers(port):
            if process.poll() is not None or time.perf_counter() - began > _START_SECONDS:
                raise OSError(f"it did not begin to answer (exit code {process.poll()})")
            time.sleep(0.05)
        seconds = time.perf_counter() - began
        status = Path(f"/proc/{process.pid}/status").read_text()
    finally:
        process.kill()
        process.wait()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    return Proxy(seconds, peak * 1024)


def _answers(port: int) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=1):
        return True
    return False

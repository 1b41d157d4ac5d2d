"""Whether a command is gone in time, whatever its descendants do."""

import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from measuring import Line

from bench.cancellation import Cancellation
from bench.config import LimitsConfig, SandboxConfig
from bench.sandbox import Command, End, Sandbox, open_sandbox

LIMIT = 1.0  # seconds
MOST_AFTER = 3.0

SCRIPTS = {
    "holds the pipes in another session": "setsid sleep 100 & sleep 100",
    "ignores TERM, and so do its children": 'trap "" TERM; setsid sh -c "while :; do sleep 1; done" & while :; do sleep 1; done',
    "starts children without end": 'trap "" TERM; (while :; do setsid sleep 100 & sleep 0.01; done) & while :; do sleep 1; done',
    "prints until the end": 'trap "" TERM; setsid yes & yes',
}


def of_a_stubborn_command() -> Iterator[Line]:
    """Each script in each sandbox; they wait more than they work, so a few run at once."""
    for name in ("host", "bubblewrap"):
        with tempfile.TemporaryDirectory(prefix="perf-") as folder, ThreadPoolExecutor(2) as threads:
            sandbox = open_sandbox(_configuration(name, folder))
            taken = list(threads.map(partial(_seconds, sandbox, Path(folder)), SCRIPTS.values()))
        worst, what = max(zip(taken, SCRIPTS, strict=True))
        yield Line(
            what=f"timeout of {LIMIT:g} s in {name}: the rest it takes",
            measured=f"{worst - LIMIT:.2f} s",
            baseline=f"worst of {len(SCRIPTS)}: {what}",
            value=worst - LIMIT,
            bar=MOST_AFTER,
            unit="s",
        )


def _seconds(sandbox: Sandbox, folder: Path, script: str) -> float:
    layout = sandbox.layout(folder)
    command = Command(
        argv=("/bin/sh", "-c", script),
        directory=layout.temporary if sandbox.contains else str(folder),
        environment={"PATH": "/usr/bin:/bin"},
        mounts=(),
        seconds=LIMIT,
        most_output=1 << 40,
    )
    began = time.monotonic()
    with Cancellation() as cancellation:
        result = sandbox.run(command, cancellation)
    if result.end is not End.TIMEOUT:
        raise RuntimeError(f"{script!r} did not run into its timeout: {result.end} {result.detail}")
    return time.monotonic() - began


def _configuration(name: str, scratch: str) -> SandboxConfig:
    return SandboxConfig(
        name=name,
        workspace="auto",
        scratch=scratch,
        limits=LimitsConfig(memory_mb=None, processes=None, file_mb=None, open_files=None),
        accept_no_containment=False,
    )

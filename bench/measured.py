"""What is known of a process and of a session once they have ended: types that the shell which measures shares
with the core that judges, which imports no shell. Pure.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from bench.text import printable

_TOLD = 1000


class End(StrEnum):
    """How a command ended."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    KILLED = "killed"  # by a signal that was not ours: out of memory, a crash
    OVERFLOW = "output-overflow"
    CANCELLED = "cancelled"
    SPAWN_FAILED = "spawn-failed"


class Captured(Struct, frozen=True):
    """One output stream, drained to its end: its first and last bytes, and how many there were in all."""

    head: bytes
    tail: bytes
    size: int

    def text(self) -> str:
        """Readable text: undecodable bytes replaced, a marker where the middle was dropped."""
        dropped = self.size - len(self.head) - len(self.tail)
        marker = f"\n[{dropped} bytes dropped]\n".encode() if dropped > 0 else b""
        return (self.head + marker + self.tail).decode("utf-8", "replace")


class ProcessResult(Struct, frozen=True, kw_only=True):
    """What a confined command did. `code` is None unless it exited; `peak_memory` in bytes where it is known."""

    end: End
    code: int | None
    detail: str
    stdout: Captured
    stderr: Captured
    seconds: float
    peak_memory: int | None = None

    @property
    def succeeded(self) -> bool:
        return self.end is End.EXITED and self.code == 0

    def account(self) -> str:
        """How it ended, and the last characters that it printed, for a message."""
        told = printable((self.stderr.text() or self.stdout.text()).strip()[-_TOLD:])
        state = f"exit {self.code}" if self.code is not None else f"{self.end} {self.detail}".strip()
        return f"({state}): {told or 'it said nothing'}"


class Usage(Struct, frozen=True, kw_only=True):
    """What sessions used. None is unknown, never zero; `source` says who measured it."""

    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cost_usd: float | None = None
    turns: int | None = None
    requests: int | None = None
    source: Literal["gateway", "agent", "none"] = "none"


class Charged(Struct, frozen=True, kw_only=True):
    """What the gateway charged for the requests of a session, broken ones at their ceiling; `picodollars` is None
    for a model without a price.
    """

    picodollars: int | None
    tokens: int


class SessionReport(Struct, frozen=True, kw_only=True):
    """What the parent-captured stream of one session says.

    `status` is `completed`, `gave_up` (the agent ran into its own limits: it failed the task) or `error`
    (the session broke: no, two or malformed result events, or the agent says so). `reported` is what the agent says
    that it used, where the gateway measured something else.
    """

    status: Literal["completed", "gave_up", "error"]
    detail: str
    usage: Usage
    skills_used: tuple[str, ...] = ()
    events: Mapping[str, int] = {}
    reported: Usage | None = None

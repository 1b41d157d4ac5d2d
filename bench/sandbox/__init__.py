"""How a command is confined: bubblewrap or host; managed processes."""

from bench.sandbox.protocol import (
    Captured,
    Command,
    End,
    Layered,
    Layout,
    Limits,
    Mount,
    ProcessResult,
    ReadOnly,
    Sandbox,
    Writable,
)

__all__ = [
    "Captured",
    "Command",
    "End",
    "Layered",
    "Layout",
    "Limits",
    "Mount",
    "ProcessResult",
    "ReadOnly",
    "Sandbox",
    "Writable",
]

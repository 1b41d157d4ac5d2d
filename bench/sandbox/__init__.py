"""How a command is confined: bubblewrap or host; managed processes."""

from bench.measured import Captured, End, ProcessResult
from bench.sandbox.factories import BUBBLEWRAP, HOST, open_sandbox
from bench.sandbox.host import WITHOUT_CONTAINMENT, containment_refusal
from bench.sandbox.interpreter import python_mounts
from bench.sandbox.protocol import (
    Command,
    Hidden,
    Layered,
    Layout,
    Limits,
    Mount,
    ReadOnly,
    Sandbox,
    SandboxFactory,
    Writable,
)
from bench.sandbox.terminal import open_shell

__all__ = [
    "BUBBLEWRAP",
    "HOST",
    "WITHOUT_CONTAINMENT",
    "Captured",
    "Command",
    "End",
    "Hidden",
    "Layered",
    "Layout",
    "Limits",
    "Mount",
    "ProcessResult",
    "ReadOnly",
    "Sandbox",
    "SandboxFactory",
    "Writable",
    "containment_refusal",
    "open_sandbox",
    "open_shell",
    "python_mounts",
]

"""What the rest of the harness knows of an agent: how to start a session, and how to read its events."""

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from msgspec import Struct

from bench.config import AgentConfig, ModelConfig, SessionKind
from bench.gateway import ModelProtocol, Way
from bench.measured import SessionReport
from bench.sandbox import Layout, Mount


class SkillPlace(Struct, frozen=True):
    """A skill that a session finds in its working copy, at `path` as seen inside."""

    name: str
    path: str


class ToolPlace(Struct, frozen=True, kw_only=True):
    """A tool that a session may use: a folder or derived asset at `path`, or the command of an MCP server."""

    name: str
    kind: Literal["folder", "derived", "mcp"]
    path: str | None = None
    command: tuple[str, ...] = ()


class SessionRequest(Struct, frozen=True, kw_only=True):
    """What one session is asked to do. `artifact` is where it leaves its result, `plan`
    where a work session finds the plan of an earlier one, as seen inside; `way` leads to the model, null for an
    agent that calls none; `served` is what is known of the model.
    """

    name: str
    kind: SessionKind
    prompt: str
    artifact: str
    skills: tuple[SkillPlace, ...]
    tools: tuple[ToolPlace, ...] = ()
    plan: str | None = None
    effort: str | None
    model: str | None
    seed: int
    way: Way | None = None
    served: ModelConfig | None = None


class SessionCommand(Struct, frozen=True, kw_only=True):
    """How to start the agent for one session: everything but the working copy and limits.

    `home` holds the files that its home has when it starts, by their paths in it; `stop` is the signal that makes it
    end and still report what it used. Its PATH begins with the folders of `search`. The gateway gives it no more than
    `turns` answers: for programs that cannot limit themselves.
    """

    argv: tuple[str, ...]
    stdin: bytes
    environment: Mapping[str, str]
    mounts: tuple[Mount, ...]
    home: Mapping[str, bytes] = {}
    stop: signal.Signals = signal.SIGTERM
    search: tuple[str, ...] = ()
    turns: int | None = None


class StreamParser(Protocol):
    """Reads one session's stdout incrementally and in bounded memory."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes; never raises on what an agent prints."""
        ...

    def close(self, code: int | None) -> SessionReport:
        """The report, once the process ended with `code` (None: it did not exit by itself)."""
        ...


class Agent(Protocol):
    """Drives one coding agent. An adapter holds no state of a session. `sources` are the files and folders that cells
    see as they lie, of which `digest` is one: a run whose cells see another one than it names is stopped.

    `calls_model` makes the harness start it behind the gateway's forwarder; `protocols` are those that it speaks there.
    """

    name: str
    version: str
    digest: str
    deterministic: bool
    calls_model: bool
    skill_root: str
    sources: tuple[Path, ...]
    protocols: tuple[ModelProtocol, ...]

    def efforts(self, model: ModelConfig) -> tuple[str, ...] | None:
        """The efforts that it really sends to this model; None for an agent that takes any."""
        ...

    def command(self, request: SessionRequest, layout: Layout) -> SessionCommand:
        """How to start a session."""
        ...

    def parser(self, request: SessionRequest) -> StreamParser:
        """A fresh parser for the stdout of the session that was asked for."""
        ...


class AgentFactory(Protocol):
    """What an entry point of `incumbent.agents` names: a schema for `options` and a way to make the agent."""

    options_schema: Mapping[str, Any]

    def create(self, config: AgentConfig, root: Path) -> Agent:
        """The agent as configured, paths relative to the project's root; AgentError says what is missing."""
        ...

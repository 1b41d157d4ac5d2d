"""How Claude Code is started: one headless session in a home of its own, with nothing but the gateway to talk to."""

import hashlib
import json
import re
import signal
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bench.agents.briefing import briefing
from bench.agents.claude_code.stream import ClaudeStream
from bench.agents.installed import Installed, find_agent
from bench.agents.protocol import AgentFactory, SessionCommand, SessionRequest, StreamParser
from bench.config import AgentConfig, ModelConfig
from bench.gateway import ModelProtocol
from bench.sandbox import Layout

_NAME = "claude_code"
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
# Models up to 4.5 but Opus 4.5: they get a budget of thinking tokens, whatever effort is asked for (seen on the wire).
_WITHOUT_EFFORT = re.compile(
    r"claude-(?:3|opus-4(?:-[01](?!\d)|-\d{8}|$)|(?:sonnet|haiku)-4(?:-[015](?!\d)|-\d{8}|$))"
)
# No network but the gateway, and nobody who could be asked.
_FORBIDDEN = ("WebFetch", "WebSearch", "AskUserQuestion")
_QUIET = (
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
    "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS", "CLAUDE_CODE_DISABLE_WORKFLOWS", "CLAUDE_ENABLE_BYTE_WATCHDOG",
    "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER",
)  # fmt: skip
# A session may ask for smaller models on the side; only the measured one is served.
_MODELS = (
    "ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL",
)  # fmt: skip
_NULL_OR_TEXT = {"type": ["string", "null"], "minLength": 1}
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "program": {
            **_NULL_OR_TEXT,
            "description": "The program's file; null is the one that `evolve agents install` put there.",
        },
        "version": {**_NULL_OR_TEXT, "description": "Which installed version; null is the pinned one."},
        "max_turns": {
            "type": ["integer", "null"],
            "minimum": 1,
            "description": "The most requests of one session; null is no limit but the session's time and budget.",
        },
        "retries": {
            "type": "integer",
            "minimum": 0,
            "maximum": 10,
            "description": "How often it asks again when the provider fails.",
        },
        "request_seconds": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "How long it waits for an answer to begin.",
        },
        "silence_seconds": {
            "type": "number",
            "minimum": 10,
            "description": "How long it waits when an answer does not go on.",
        },
    },
}


class _Options(Struct, frozen=True, forbid_unknown_fields=True):
    program: str | None = None
    version: str | None = None
    max_turns: int | None = None
    retries: int = 2
    request_seconds: float = 300.0
    silence_seconds: float = 120.0


class ClaudeCode:
    """The adapter."""

    name = _NAME
    deterministic = False
    calls_model = True
    skill_root = ".claude/skills"
    protocols: tuple[ModelProtocol, ...] = ("anthropic_messages",)

    def __init__(self, options: _Options, installed: Installed) -> None:
        self._options, self._installed = options, installed
        self.version, self.digest = installed.version, installed.digest
        self.sources: tuple[Path, ...] = (installed.path,)

    def efforts(self, model: ModelConfig) -> tuple[str, ...] | None:
        """What `--effort` really puts into a request; none for the models that it sends a thinking budget."""
        return () if _WITHOUT_EFFORT.match(model.id or "") else _EFFORTS

    def command(self, request: SessionRequest, layout: Layout) -> SessionCommand:
        """One session: the prompt on stdin, every event on stdout."""
        start, mounts = self._installed.start(layout)
        return SessionCommand(
            argv=(*start, *self._arguments(request)),
            stdin=briefing(request).encode(),
            environment=self._environment(request, layout),
            mounts=mounts,
            home={".claude.json": _settings()},
            # asked so, it says what it used, at least while a tool runs; on SIGTERM it never does
            stop=signal.SIGINT,
        )

    def parser(self, request: SessionRequest) -> StreamParser:  # noqa: ARG002 - the protocol of agents
        """A parser of its event stream."""
        return ClaudeStream()

    def _arguments(self, request: SessionRequest) -> list[str]:
        arguments = [
            "-p", "--output-format", "stream-json", "--verbose",
            "--model", str(request.model),
            "--permission-mode", "bypassPermissions",
            "--strict-mcp-config",
            "--session-id", _session_id(request),
            # without skills of its own, a session does not even read the repository's CLAUDE.md of others
            "--setting-sources", "project",
            "--disallowedTools", ",".join(_FORBIDDEN),
        ]  # fmt: skip
        servers = {
            tool.name: {"command": tool.command[0], "args": list(tool.command[1:])}
            for tool in request.tools
            if tool.command
        }
        if servers:
            arguments += ["--mcp-config", json.dumps({"mcpServers": servers}, sort_keys=True)]
        if request.effort is not None:
            arguments += ["--effort", request.effort]
        if self._options.max_turns is not None:
            arguments += ["--max-turns", str(self._options.max_turns)]
        return arguments

    def _environment(self, request: SessionRequest, layout: Layout) -> dict[str, str]:
        options = self._options
        return {
            **dict.fromkeys(_QUIET, "1"),
            **dict.fromkeys(_MODELS, str(request.model)),
            **(request.way.environment("anthropic_messages") if request.way else {}),
            # root may not bypass permissions where no sandbox has made another user of it
            **({} if layout.contained else {"IS_SANDBOX": "1"}),
            "CLAUDE_CODE_MAX_RETRIES": str(options.retries),
            "API_TIMEOUT_MS": str(round(options.request_seconds * 1000)),
            "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": str(round(options.silence_seconds * 1000)),
        }


def _settings() -> bytes:
    """Fixed names of user and machine: so that equal sessions send equal requests."""
    names = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("userID", "machineID")}
    return json.dumps({**names, "hasCompletedOnboarding": True}, sort_keys=True).encode()


def _session_id(request: SessionRequest) -> str:
    """The same for equal sessions."""
    seed = f"{request.seed}/{request.name}/{hashlib.sha256(request.prompt.encode()).hexdigest()}"
    return str(uuid.uuid5(uuid.NAMESPACE_URL, seed))


class _ClaudeCodeFactory:
    """Finds the program; AgentError says how to install it."""

    options_schema = _SCHEMA

    def create(self, config: AgentConfig, root: Path) -> ClaudeCode:
        options = msgspec.convert(config.options, _Options)
        program = None if options.program is None else root / options.program
        return ClaudeCode(options, find_agent(root, _NAME, version=options.version, program=program))


CLAUDE_CODE: AgentFactory = _ClaudeCodeFactory()

"""How codex is started: one headless turn in a home of its own, with nothing but the gateway to talk to."""

import json
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bench.agents.briefing import briefing
from bench.agents.codex.stream import CodexStream
from bench.agents.installed import Installed, find_agent
from bench.agents.protocol import AgentFactory, SessionCommand, SessionRequest, StreamParser
from bench.config import AgentConfig, ModelConfig
from bench.gateway import ModelProtocol
from bench.sandbox import Layout

_NAME = "codex"
_HOME = ".codex"
_KEY = "GATEWAY_TOKEN"
_EFFORTS = ("minimal", "low", "medium", "high", "xhigh")
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
            "description": "How often it may ask its model; the gateway ends it. Null: as often as the gateway takes.",
        },
        "subagents": {"type": "boolean", "description": "It may start agents of its own."},
        "retries": {
            "type": "integer",
            "minimum": 0,
            "maximum": 10,
            "description": "How often it asks again when the provider fails, and when an answer breaks off.",
        },
        "silence_seconds": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "How long it waits when an answer does not go on.",
        },
    },
}


class _Options(Struct, frozen=True, forbid_unknown_fields=True):
    program: str | None = None
    version: str | None = None
    max_turns: int | None = None
    subagents: bool = False
    retries: int = 2
    silence_seconds: float = 120.0


class Codex:
    """The adapter."""

    name = _NAME
    deterministic = False
    calls_model = True
    skill_root = ".agents/skills"
    protocols: tuple[ModelProtocol, ...] = ("openai_responses",)

    def __init__(self, options: _Options, installed: Installed) -> None:
        self._options, self._installed = options, installed
        self.version, self.digest = installed.version, installed.digest
        self.sources: tuple[Path, ...] = (installed.path,)

    def efforts(self, model: ModelConfig) -> tuple[str, ...] | None:  # noqa: ARG002 - the same for all models
        """What it puts into a request."""
        return _EFFORTS

    def command(self, request: SessionRequest, layout: Layout) -> SessionCommand:
        """One turn: the prompt on stdin, every event on stdout."""
        start, mounts = self._installed.start(layout)
        arguments = (
            "exec", "--json", "--color", "never", "--skip-git-repo-check", "--ephemeral",
            "--dangerously-bypass-approvals-and-sandbox", "-",
        )  # fmt: skip
        return SessionCommand(
            argv=(*start, *arguments),
            stdin=briefing(request).encode(),
            environment={
                "CODEX_HOME": f"{layout.home}/{_HOME}",
                _KEY: request.way.token if request.way else "",
            },
            mounts=mounts,
            home={f"{_HOME}/config.toml": self._settings(request, layout).encode()},
            stop=signal.SIGINT,
            turns=self._options.max_turns,
        )

    def parser(self, request: SessionRequest) -> StreamParser:
        """A parser of its event stream."""
        return CodexStream(request.skills)

    def _settings(self, request: SessionRequest, layout: Layout) -> str:
        """Its config.toml. JSON texts, numbers and lists are TOML's, too."""
        options = self._options
        plain: dict[str, Any] = {
            "model": request.model,
            "model_provider": "gateway",
            **({} if request.effort is None else {"model_reasoning_effort": request.effort}),
            "web_search": "disabled",
            "check_for_update_on_startup": False,
        }
        tables: dict[str, dict[str, Any]] = {
            "analytics": {"enabled": False},
            "skills.bundled": {"enabled": False},
            "features": {"plugins": False, "apps": False, "goals": False},
            "agents": {"enabled": options.subagents},
            "model_providers.gateway": {
                "name": "gateway",
                "base_url": request.way.versioned if request.way else "",
                "wire_api": "responses",
                "env_key": _KEY,
                "request_max_retries": options.retries,
                "stream_max_retries": options.retries,
                "stream_idle_timeout_ms": round(options.silence_seconds * 1000),
            },
            # its commands inherit what the sandbox set, but for what looks like a key, and this one
            "shell_environment_policy": {"inherit": "all", "exclude": [_KEY]},
            f"projects.{json.dumps(layout.workspace)}": {"trust_level": "trusted"},
            **_servers(request),
        }
        return "\n".join(
            [*_lines(plain), *(line for name, table in tables.items() for line in _table(name, table))]
        )


def _servers(request: SessionRequest) -> dict[str, dict[str, Any]]:
    return {
        f"mcp_servers.{json.dumps(tool.name)}": {"command": tool.command[0], "args": list(tool.command[1:])}
        for tool in request.tools
        if tool.command
    }


def _table(name: str, values: Mapping[str, Any]) -> Iterator[str]:
    yield f"[{name}]"
    yield from _lines(values)


def _lines(values: Mapping[str, Any]) -> Iterator[str]:
    return (f"{key} = {json.dumps(value)}" for key, value in values.items())


class _CodexFactory:
    """Finds the program; AgentError says how to install it."""

    options_schema = _SCHEMA

    def create(self, config: AgentConfig, root: Path) -> Codex:
        options = msgspec.convert(config.options, _Options)
        program = None if options.program is None else root / options.program
        return Codex(options, find_agent(root, _NAME, version=options.version, program=program))


CODEX: AgentFactory = _CodexFactory()

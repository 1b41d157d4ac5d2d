"""How opencode is started: one headless session in a home of its own, with nothing but the gateway to talk to."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bench.agents.briefing import briefing
from bench.agents.installed import Installed, find_agent
from bench.agents.installed_options import PROGRAM_OPTIONS, program_of
from bench.agents.opencode.stream import OpenCodeStream
from bench.agents.protocol import AgentFactory, SessionCommand, SessionRequest, StreamParser
from bench.agents.speaking import PROTOCOL_OPTION, spoken
from bench.config import AgentConfig, ModelConfig
from bench.gateway import ModelProtocol
from bench.sandbox import Layout

_NAME = "opencode"
_PROVIDER = "gateway"
_KEY = "GATEWAY_TOKEN"
# The clients that are part of the program: any other one it would fetch from npm.
_CLIENTS: Mapping[ModelProtocol, str] = {
    "anthropic_messages": "@ai-sdk/anthropic",
    "openai_responses": "@ai-sdk/openai",
    "openai_chat": "@ai-sdk/openai-compatible",
}
# With any other one, its client refuses the request (seen with 1.18.33).
_ANTHROPIC_EFFORTS = ("low", "medium", "high", "xhigh", "max")
# `task` stays: subagents reach their model through the same gateway.
_FORBIDDEN = ("webfetch", "websearch", "question")
_QUIET = (
    "OPENCODE_PURE", "OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_LSP_DOWNLOAD", "OPENCODE_DISABLE_DEFAULT_PLUGINS", "OPENCODE_DISABLE_SHARE",
    # a repository's own configuration could name other models, servers and commands
    "OPENCODE_DISABLE_PROJECT_CONFIG",
)  # fmt: skip
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        **PROGRAM_OPTIONS,
        "protocol": PROTOCOL_OPTION,
        "max_turns": {
            "type": "integer",
            "minimum": 1,
            "description": "How often it may ask its model: with the last step it is told to come to an end, and the "
            "gateway ends what goes on.",
        },
        "request_seconds": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "How long one request may take.",
        },
    },
}


class _Options(Struct, frozen=True, forbid_unknown_fields=True):
    program: str | None = None
    version: str | None = None
    protocol: ModelProtocol | None = None
    max_turns: int = 200
    request_seconds: float = 600.0


class OpenCode:
    """The adapter."""

    name = _NAME
    deterministic = False
    calls_model = True
    skill_root = ".claude/skills"

    def __init__(self, options: _Options, installed: Installed) -> None:
        self._options, self._installed = options, installed
        self.version, self.digest = installed.version, installed.digest
        self.sources: tuple[Path, ...] = (installed.path,)
        self.protocols: tuple[ModelProtocol, ...] = (
            tuple(_CLIENTS) if options.protocol is None else (options.protocol,)
        )

    def efforts(self, model: ModelConfig) -> tuple[str, ...] | None:
        """Its client for Anthropic's protocol knows five; those for OpenAI's send any word."""
        speaks = spoken(self._options.protocol, model)
        return _ANTHROPIC_EFFORTS if speaks == "anthropic_messages" else None

    def command(self, request: SessionRequest, layout: Layout) -> SessionCommand:
        """One session: the prompt on stdin, every event on stdout."""
        start, mounts = self._installed.start(layout)
        return SessionCommand(
            # without a title, it would ask the model for one
            argv=(*start, "run", "--format", "json", "--pure", "--title", request.name),
            stdin=briefing(request).encode(),
            environment={
                **dict.fromkeys(_QUIET, "1"),
                "OPENCODE_CONFIG_CONTENT": json.dumps(self._configuration(request), sort_keys=True),
                _KEY: request.way.token if request.way else "",
            },
            mounts=mounts,
            # told to end, it goes on for as long as its model calls tools (seen with 1.18.33)
            turns=self._options.max_turns,
            search=self._installed.search_path(layout),
        )

    def parser(self, request: SessionRequest) -> StreamParser:  # noqa: ARG002 - the protocol of agents
        """A parser of its event stream."""
        return OpenCodeStream()

    def _configuration(self, request: SessionRequest) -> dict[str, Any]:
        model = f"{_PROVIDER}/{request.model}"
        return {
            "autoupdate": False,
            "share": "disabled",
            "snapshot": False,
            "lsp": False,
            "formatter": False,
            "model": model,
            "small_model": model,
            "enabled_providers": [_PROVIDER],
            "provider": {_PROVIDER: self._provider(request)},
            "agent": {"build": {"steps": self._options.max_turns}},
            "permission": {
                "*": "allow",
                "external_directory": "allow",
                "skill": {"*": "allow", "customize-opencode": "deny"},
                **dict.fromkeys(_FORBIDDEN, "deny"),
            },
            "mcp": {
                tool.name: {"type": "local", "command": list(tool.command), "enabled": True}
                for tool in request.tools
                if tool.command
            },
        }

    def _provider(self, request: SessionRequest) -> dict[str, Any]:
        speaks = spoken(self._options.protocol, request.served)
        served = request.served
        effort = "effort" if speaks == "anthropic_messages" else "reasoningEffort"
        return {
            "npm": _CLIENTS[speaks],
            "name": _PROVIDER,
            "options": {
                "baseURL": request.way.versioned if request.way else "",
                "apiKey": f"{{env:{_KEY}}}",
                "timeout": round(self._options.request_seconds * 1000),
            },
            "models": {
                str(request.model): {
                    "name": str(request.model),
                    "tool_call": True,
                    "reasoning": True,
                    "limit": {
                        "context": (served and served.context) or 200_000,
                        "output": (served and served.max_output) or 32_000,
                    },
                    "options": {} if request.effort is None else {effort: request.effort},
                }
            },
        }


class _OpenCodeFactory:
    """Finds the program; AgentError says how to install it."""

    options_schema = _SCHEMA

    def create(self, config: AgentConfig, root: Path) -> OpenCode:
        options = msgspec.convert(config.options, _Options)
        program = program_of(options.program, root)
        return OpenCode(options, find_agent(root, _NAME, version=options.version, program=program))


OPENCODE: AgentFactory = _OpenCodeFactory()

"""How pi is started: one headless session in a home of its own, with nothing but the gateway to talk to."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bench.agents.briefing import briefing
from bench.agents.installed import Installed, find_agent
from bench.agents.installed_options import PROGRAM_OPTIONS, program_of
from bench.agents.pi.stream import PiStream
from bench.agents.protocol import AgentFactory, SessionCommand, SessionRequest, StreamParser
from bench.agents.speaking import PROTOCOL_OPTION, spoken
from bench.config import AgentConfig, ModelConfig
from bench.digest import digest_file, digest_json
from bench.errors import AgentError
from bench.gateway import ModelProtocol
from bench.sandbox import Layout, ReadOnly

_NAME = "pi"
_PROVIDER = "gateway"
_KEY = "GATEWAY_TOKEN"
_QUIET = Path(__file__).parent / "quiet.mjs"
_APIS: Mapping[ModelProtocol, str] = {
    "anthropic_messages": "anthropic-messages",
    "openai_responses": "openai-responses",
    "openai_chat": "openai-completions",
}
_EFFORTS = ("minimal", "low", "medium", "high")
# Sent in place of an effort in Anthropic's protocol, as tokens for thinking. What does not fit beside 1,024 tokens of
# answer is cut without a word, and then two efforts are one (seen with 0.73.1).
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384}
_ANSWER = 1024
_MAX_OUTPUT, _CONTEXT = 32_000, 200_000
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        **PROGRAM_OPTIONS,
        "protocol": PROTOCOL_OPTION,
        "max_turns": {
            "type": ["integer", "null"],
            "minimum": 1,
            "description": "How often it may ask its model; the gateway ends it. Null: as often as the gateway takes.",
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
    },
}


class _Options(Struct, frozen=True, forbid_unknown_fields=True):
    program: str | None = None
    version: str | None = None
    protocol: ModelProtocol | None = None
    max_turns: int | None = None
    retries: int = 2
    request_seconds: float = 600.0


class Pi:
    """The adapter."""

    name = _NAME
    deterministic = False
    calls_model = True
    skill_root = ".claude/skills"

    def __init__(self, options: _Options, installed: Installed) -> None:
        self._options, self._installed = options, installed
        self.version = installed.version
        self.digest = digest_json([installed.digest, digest_file(_QUIET)])
        self.sources: tuple[Path, ...] = (installed.path, _QUIET)
        self.protocols: tuple[ModelProtocol, ...] = (
            tuple(_APIS) if options.protocol is None else (options.protocol,)
        )

    def efforts(self, model: ModelConfig) -> tuple[str, ...] | None:
        """Four words in OpenAI's protocols; in Anthropic's, those whose budget fits the model's output."""
        if spoken(self._options.protocol, model) != "anthropic_messages":
            return _EFFORTS
        room = (model.max_output or _MAX_OUTPUT) - _ANSWER
        return tuple(effort for effort in _EFFORTS if _BUDGETS[effort] <= room)

    def command(self, request: SessionRequest, layout: Layout) -> SessionCommand:
        """One session: the prompt on stdin, every whole event on stdout."""
        servers = [tool.name for tool in request.tools if tool.kind == "mcp"]
        if servers:
            raise AgentError(f"the agent pi starts no MCP servers, and the arm has the tool {servers[0]}")
        (node, program), mounts = self._installed.start(layout)
        target = "/opt/agent/quiet.mjs"
        return SessionCommand(
            argv=(
                node,
                "--import",
                layout.seen(_QUIET, target),
                program,
                *_arguments(request, layout, self.skill_root),
            ),
            stdin=briefing(request).encode(),
            environment={
                "PI_OFFLINE": "1",
                "PI_TELEMETRY": "0",
                _KEY: request.way.token if request.way else "",
            },
            mounts=(*mounts, ReadOnly(_QUIET, target)),
            home={
                ".pi/agent/models.json": _as_bytes({"providers": {_PROVIDER: self._provider(request)}}),
                ".pi/agent/settings.json": _as_bytes(self._settings()),
            },
            turns=self._options.max_turns,
        )

    def parser(self, request: SessionRequest) -> StreamParser:
        """A parser of its event stream."""
        return PiStream(request.skills, self.skill_root)

    def _provider(self, request: SessionRequest) -> dict[str, Any]:
        speaks = spoken(self._options.protocol, request.served)
        way, served = request.way, request.served
        origin = "" if way is None else way.origin if speaks == "anthropic_messages" else way.versioned
        return {
            "baseUrl": origin,
            "apiKey": _KEY,
            "api": _APIS[speaks],
            "models": [
                {
                    "id": request.model,
                    "name": request.model,
                    "reasoning": True,
                    "input": ["text"],
                    "contextWindow": (served and served.context) or _CONTEXT,
                    "maxTokens": (served and served.max_output) or _MAX_OUTPUT,
                    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
                }
            ],
        }

    def _settings(self) -> dict[str, Any]:
        options = self._options
        provider = {"maxRetries": 0, "timeoutMs": round(options.request_seconds * 1000)}
        return {
            "retry": {"enabled": options.retries > 0, "maxRetries": options.retries, "provider": provider}
        }


def _arguments(request: SessionRequest, layout: Layout, skill_root: str) -> list[str]:
    arguments = [
        "-p", "--mode", "json", "--offline", "--no-session",
        "--no-extensions", "--no-prompt-templates", "--no-themes",
        "--provider", _PROVIDER, "--model", str(request.model),
        # only those of the arm
        "--no-skills",
    ]  # fmt: skip
    if request.skills:
        arguments += ["--skill", f"{layout.workspace}/{skill_root}"]
    if request.effort is not None:
        arguments += ["--thinking", request.effort]
    return arguments


def _as_bytes(value: dict[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


class _PiFactory:
    """Finds the program; AgentError says how to install it."""

    options_schema = _SCHEMA

    def create(self, config: AgentConfig, root: Path) -> Pi:
        options = msgspec.convert(config.options, _Options)
        program = program_of(options.program, root)
        return Pi(options, find_agent(root, _NAME, version=options.version, program=program))


PI: AgentFactory = _PiFactory()

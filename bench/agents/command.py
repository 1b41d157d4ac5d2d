"""The agent `command`: any program that follows the session contract."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bench.agents.contract import ContractParser, session_input
from bench.agents.protocol import AgentFactory, SessionCommand, SessionRequest, StreamParser
from bench.agents.python import interpreter
from bench.config import AgentConfig, ModelConfig
from bench.digest import digest_bytes, digest_json, digest_tree
from bench.disk import read_regular
from bench.errors import AgentError
from bench.gateway import ModelProtocol
from bench.sandbox import Layout, ReadOnly
from bench.suite import MANIFEST, Refused, check_path, shown

RUNS = "runs"
LARGEST = 2 << 30
_KERNEL = ("/proc", "/sys", "/dev")
_MOUNT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["source", "target"],
    "properties": {
        "source": {"type": "string", "description": "A file or folder; relative to the project."},
        "target": {
            "type": "string",
            "pattern": "^/",
            "description": "Where the sandbox shows it, read-only.",
        },
    },
}
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["program"],
    "properties": {
        "program": {"type": "string", "description": "The program's file; relative to the project."},
        "arguments": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Its arguments; paths as the sandbox shows them.",
        },
        "python": {
            "type": "boolean",
            "description": "Run the file with this project's interpreter, isolated and without site-packages.",
        },
        "version": {
            "type": "string",
            "description": "The version under which its measurements are recorded.",
        },
        "deterministic": {"type": "boolean", "description": "The same input gives the same output; checked."},
        "calls_model": {
            "type": "boolean",
            "description": "It calls a model; a host sandbox then refuses it.",
        },
        "skill_root": {"type": "string", "description": "Where in the working copy it looks for skills."},
        "mounts": {
            "type": "object",
            "additionalProperties": _MOUNT,
            "description": "What else it needs to see, by a name of your choice.",
        },
    },
}


class _Mounted(Struct, frozen=True):
    source: str
    target: str


class _Options(Struct, frozen=True, forbid_unknown_fields=True):
    program: str
    arguments: tuple[str, ...] = ()
    python: bool = False
    version: str = "1"
    deterministic: bool = False
    calls_model: bool = False
    skill_root: str = ".claude/skills"
    mounts: dict[str, _Mounted] = {}


class CommandAgent:
    """The adapter of a user's own program."""

    name = "command"
    protocols: tuple[ModelProtocol, ...] = ("anthropic_messages", "openai_responses", "openai_chat")

    def __init__(self, options: _Options, root: Path) -> None:
        self._options = options
        self._program = (root / options.program).resolve()
        self._mounts: tuple[ReadOnly, ...] = tuple(
            ReadOnly((root / mount.source).resolve(), mount.target) for mount in options.mounts.values()
        )
        self.version = options.version
        self.deterministic = options.deterministic
        self.calls_model = options.calls_model
        self.skill_root = options.skill_root
        contents = [_content(self._program), *(_content(mount.source) for mount in self._mounts)]
        self.sources: tuple[Path, ...] = (self._program, *(mount.source for mount in self._mounts))
        targets = [mount.target for mount in self._mounts]
        self.digest = digest_json(
            [list(options.arguments), options.python, options.version, targets, contents]
        )

    def command(self, request: SessionRequest, layout: Layout) -> SessionCommand:
        """The program as configured, with its own mounts."""
        target = f"/opt/agent/{self._program.name}"
        program = layout.seen(self._program, target)
        python, python_needs = interpreter(layout) if self._options.python else ("", ())
        start = (python, "-I", "-S", program) if self._options.python else (program,)
        return SessionCommand(
            argv=(*start, *self._options.arguments),
            stdin=session_input(request, layout),
            environment=_ways(request),
            mounts=(*python_needs, ReadOnly(self._program, target), *self._mounts),
        )

    def efforts(self, model: ModelConfig) -> tuple[str, ...] | None:  # noqa: ARG002 - the protocol of agents
        """The session contract hands on whatever is asked for."""
        return None

    def parser(self, request: SessionRequest) -> StreamParser:  # noqa: ARG002 - the protocol of agents
        """The contract's parser."""
        return ContractParser()


def _ways(request: SessionRequest) -> dict[str, str]:
    """Where the usual clients find the model."""
    if request.way is None:
        return {}
    return {
        **request.way.environment("anthropic_messages"),
        **request.way.environment("openai_chat"),
    }


def _content(path: Path) -> str:
    """The identity of what is mounted: its bytes, its links and which files can be executed, never its path."""
    executable = sorted(
        each.relative_to(path).as_posix()
        for each in (path.rglob("*") if path.is_dir() else [path])
        if each.is_file() and os.access(each, os.X_OK)
    )
    links = sorted(
        (each.relative_to(path).as_posix(), os.fspath(each.readlink()))
        for each in path.rglob("*")
        if each.is_symlink()
    )
    content = digest_tree(path) if path.is_dir() else digest_bytes(read_regular(path, LARGEST))
    return digest_json([content, executable, links])


def shows_hidden(source: Path, root: Path) -> str | None:
    """What a mount of `source` would show that no cell may see, in words; None if it is nothing."""
    if source == Path("/") or any(source.is_relative_to(tree) for tree in _KERNEL):
        return "the host's processes and devices"
    if root.is_relative_to(source):
        return "the whole project"
    if source.is_relative_to(root):
        first = source.relative_to(root).parts[0]
        if first == RUNS or first.startswith("."):
            return f"the project's `{first}`"
    manifest = os.fsdecode(MANIFEST)
    inside = any((folder / manifest).exists() for folder in (source, *source.parents))
    holds = any(manifest in names for _, _, names in os.walk(source))
    return "a suite, with its labels" if inside or holds else None


def _check_skill_root(skill_root: str) -> None:
    """AgentError for a place that is not in the working copy, or is its repository."""
    try:
        check_path(skill_root)
    except Refused as refusal:
        raise AgentError(f"agent.options.skill_root: `{shown(skill_root)}` {refusal}") from refusal
    if ".git" in skill_root.casefold().split("/"):
        raise AgentError(f"agent.options.skill_root: `{shown(skill_root)}` is inside `.git`")


class _CommandFactory:
    """Makes the agent from its options; what it names must exist before anything is paid."""

    options_schema = _SCHEMA

    def create(self, config: AgentConfig, root: Path) -> CommandAgent:
        options = msgspec.convert(config.options, _Options)
        _check_skill_root(options.skill_root)
        for path in (root / options.program, *(root / mount.source for mount in options.mounts.values())):
            if not path.exists():
                raise AgentError(f"agent `command` names {path}, which does not exist\n  see agent.options")
        if not (root / options.program).is_file():
            raise AgentError(f"agent.options.program must be a file: {root / options.program}")
        for name, mount in options.mounts.items():
            refusal = shows_hidden((root / mount.source).resolve(), root.resolve())
            if refusal is not None:
                raise AgentError(
                    f"agent.options.mounts.{name} would show every cell {refusal}: {mount.source}\n"
                    "  name only what the agent itself needs"
                )
        return CommandAgent(options, root)


COMMAND: AgentFactory = _CommandFactory()

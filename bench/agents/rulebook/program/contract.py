"""The session contract as this agent speaks it: one JSON object in, JSON lines out."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .text import native

KINDS = ("review", "plan", "work")
_UNKNOWN_TOKENS = (
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
)


class SessionProblem(Exception):  # noqa: N818 - a problem of the session, not a fault of this program
    """What a person can understand and mend; its text becomes the message of the result."""


@dataclass(frozen=True)
class Skill:
    """A skill of the session and its folder."""

    name: str
    folder: Path


@dataclass(frozen=True)
class Tool:
    """A tool of the session that is a folder of Markdown."""

    name: str
    folder: Path


@dataclass(frozen=True)
class Session:
    """What this agent needs of a session; `artifact` is None where the work itself is the result, `plan` where
    no earlier session has made one.
    """

    kind: str
    workspace: Path
    artifact: Path | None
    plan: Path | None
    skills: tuple[Skill, ...]
    tools: tuple[Tool, ...]


class Transcript:
    """Writes the events of a session and counts its steps: a skill, tool or plan read, a run of ast-grep, a file written."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._steps = 0

    def step(self) -> None:
        """Count one step."""
        self._steps += 1

    def skill(self, name: str, *, ok: bool) -> None:
        """Say whether a skill could be read."""
        self._event({"type": "skill", "name": name, "ok": ok})

    def message(self, text: str) -> None:
        """Say something that is worth reading in the transcript."""
        self._event({"type": "message", "text": text})

    def end(self, status: str, message: str) -> None:
        """Write the last two events."""
        unknown = dict.fromkeys((*_UNKNOWN_TOKENS, "cost_usd", "requests"))
        self._event({"type": "usage", **unknown, "turns": self._steps})
        self._event({"type": "result", "status": status, "message": message})

    def _event(self, event: dict[str, object]) -> None:
        self._stream.write(json.dumps(event).encode("ascii") + b"\n")
        self._stream.flush()


def parse_session(raw: bytes) -> Session:
    """The session that stands in `raw`. SessionProblem says what is wrong with it."""
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise SessionProblem(f"The session on standard input is not JSON: {error}.") from error
    if _text(document, "schema") != "session/1":
        raise SessionProblem("This agent understands sessions of the schema `session/1` only.")
    kind = _text(document, "kind")
    if kind not in KINDS:
        raise SessionProblem(
            f"This agent does not know the session kind {kind!r}; it knows {', '.join(KINDS)}."
        )
    return Session(
        kind=kind,
        workspace=_path(document, "paths", "workspace"),
        artifact=None if kind == "work" else _path(document, "paths", "artifact"),
        plan=_path(document, "paths", "plan") if kind == "work" and _has(document, "paths", "plan") else None,
        skills=tuple(
            Skill(_text(skill, "name"), _path(skill, "path")) for skill in _list(document, "skills")
        ),
        tools=tuple(_folders(document)) if kind != "review" and _has(document, "tools") else (),
    )


def _folders(document: object) -> Iterator[Tool]:
    """The tools that this agent can use: an index or a server holds no rules."""
    for tool in _list(document, "tools"):
        if _text(tool, "kind") == "folder":
            yield Tool(_text(tool, "name"), _path(tool, "path"))


def _has(document: object, *keys: str) -> bool:
    """Whether a member is there and not null: sessions of the first days have neither a plan nor tools."""
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document is not None


def _member(document: object, *keys: str) -> object:
    for key in keys:
        if not isinstance(document, dict) or key not in document:
            raise SessionProblem(f"The session is malformed: `{'.'.join(keys)}` is missing.")
        document = document[key]
    return document


def _list(document: object, key: str) -> list[object]:
    value = _member(document, key)
    if not isinstance(value, list):
        raise SessionProblem(f"The session is malformed: `{key}` must be a list.")
    return value


def _text(document: object, *keys: str) -> str:
    value = _member(document, *keys)
    if not isinstance(value, str) or not value or not value.isprintable():
        raise SessionProblem(
            f"The session is malformed: `{'.'.join(keys)}` must be a text of printable characters."
        )
    return value


def _path(document: object, *keys: str) -> Path:
    value = _text(document, *keys)
    if not value.startswith("/"):
        raise SessionProblem(f"The session is malformed: `{'.'.join(keys)}` must be an absolute path.")
    return native(value.encode("utf-8"))

"""The script: replies written down in a file, for rehearsals and tests without a model."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from bench.config import load_schema, schema_complaints
from bench.errors import GatewayError, UserError
from bench.gateway.model import ModelProtocol
from bench.suite import read_yaml

_Count = Annotated[int, Meta(ge=0)]
_Positive = Annotated[int, Meta(ge=1)]
_Seconds = Annotated[float, Meta(ge=0, le=3600)]
_Status = Annotated[int, Meta(ge=400, le=599)]

Fault = Literal[
    "hang_before_headers",
    "hang_after_headers",
    "drop_connection",
    "cut",
    "malformed",
    "html",
    "two_terminals",
]
Stop = Literal["end", "tool", "length", "refusal"]


class When(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which requests a reply is for: all that is given must match. Names are glob patterns; `contains` must stand
    in the text of the request, `last_contains` in that of its last message; `turn` counts from 0 within a session.
    """

    task: str = "*"
    cell: str = "*"
    session: str = "*"
    model: str = "*"
    protocol: ModelProtocol | None = None
    turn: _Count | None = None
    contains: str | None = None
    last_contains: str | None = None


class ToolCall(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One call of a tool. `text` instead of `input` is for tools that take free text (`apply_patch` of codex)."""

    name: str
    input: dict[str, Any] = {}
    text: str | None = None
    id: str | None = None


class ErrorReply(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An HTTP error in the protocol's shape, or with a `body` of your own."""

    status: _Status
    message: str = "scripted"
    type: str | None = None
    retry_after: float | None = None
    body: str | None = None


class Reply(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One answer: text, then calls of tools. `usage` holds any of input, cache_read, cache_write, output, reasoning:
    what is left out is absent on the wire, any value is sent as it is, and null is no usage at all. `events` is for
    `fault: cut`: how many events go out before.
    """

    text: str = ""
    tools: tuple[ToolCall, ...] = ()
    usage: dict[str, Any] | None = None
    native_usage: dict[str, Any] | None = None
    stop: Stop | None = None
    model: str | None = None
    delay: _Seconds = 0.0
    delay_between: _Seconds = 0.0
    error: ErrorReply | None = None
    fault: Fault | None = None
    events: _Count = 2


class Rule(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A reply and when it is given: `times` in each cell at most, always if null."""

    reply: Reply
    when: When = When()
    times: _Positive | None = None


class Script(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Rules in order: the first one that matches and is not used up answers."""

    schema: Literal["script/1"]
    replies: Annotated[tuple[Rule, ...], Meta(min_length=1)]


class Situation(Struct, frozen=True, kw_only=True):
    """What a request is, for matching. `text` and `last` hold all text of it and of its last message."""

    task: str
    cell: str
    session: str
    model: str
    protocol: ModelProtocol
    turn: int
    text: str
    last: str


def read_script(path: Path) -> Script:
    """The script of a YAML or JSON file. GatewayError names every fault with its line."""
    try:
        document = read_yaml(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise GatewayError(
            f"{path} cannot be read: {reason}\n  model.script names a file from the project's folder on"
        ) from error
    except UserError as error:
        raise GatewayError(f"{error}\n  the format is described in docs/scripted-provider.md") from error
    complaints = schema_complaints(load_schema("script"), document.value)
    if complaints:
        lines = [f"{document.place(each.path)}: {each.line()}" for each in complaints]
        raise GatewayError("\n".join([*lines, "  the format is described in docs/scripted-provider.md"]))
    return msgspec.convert(document.value, Script)


def situation_text(request: dict[str, Any]) -> tuple[str, str]:
    """All text of a request and that of its last message, one part a line."""
    messages = request.get("messages", request.get("input", ()))
    last = messages[-1:] if isinstance(messages, list) else messages
    return "\n".join(_texts(request)), "\n".join(_texts(last))


def said_last(request: dict[str, Any]) -> str:
    """What a request ends with, for people: the longest line of its last message, which is mostly a tool's answer."""
    return max(situation_text(request)[1].splitlines(), key=len, default="")


class Prompter:
    """Finds the reply for a request, and counts how often each was given in each cell."""

    def __init__(self, script: Script) -> None:
        self._rules = script.replies
        self._given: dict[tuple[int, str], int] = {}

    def find(self, situation: Situation) -> Reply | str:
        """The reply, or a sentence that says why there is none."""
        for number, rule in enumerate(self._rules):
            given = self._given.get((number, situation.cell), 0)
            if (rule.times is None or given < rule.times) and _matches(rule.when, situation):
                self._given[number, situation.cell] = given + 1
                return rule.reply
        return (
            f"the script has no reply for turn {situation.turn} of session {situation.session!r} in "
            f"{situation.cell} ({situation.protocol}, model {situation.model!r})"
        )


def _matches(when: When, situation: Situation) -> bool:
    names = ("task", "cell", "session", "model")
    return (
        all(fnmatchcase(getattr(situation, name), getattr(when, name)) for name in names)
        and when.protocol in (None, situation.protocol)
        and when.turn in (None, situation.turn)
        and (when.contains is None or when.contains in situation.text)
        and (when.last_contains is None or when.last_contains in situation.last)
    )


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value, in the order of reading."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, dict):
            waiting.extend(reversed(current.values()))
        elif isinstance(current, list | tuple):
            waiting.extend(reversed(current))

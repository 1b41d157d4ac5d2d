"""The canonical form of a request, by which recorded answers are found again. Pure.

Every rule that leaves something out stands in RULES, with its reason; docs/gateway.md lists the same.
"""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bench.digest import canonical_json, digest_bytes


class FieldRule(Struct, frozen=True):
    """A field at the top of a request that is left out."""

    name: str
    why: str


class TextRule(Struct, frozen=True):
    """A part of any text that is replaced by `to`. A text without `mark` is not looked at: texts are long, and a
    mark that begins with a letter of its own is found at once.
    """

    pattern: str
    to: str
    why: str
    mark: str


FIELD_RULES = (
    FieldRule("metadata", "the CLI's device and session"),
    FieldRule("client_metadata", "the CLI's installation and session"),
    FieldRule("prompt_cache_key", "the CLI's session"),
    FieldRule("safety_identifier", "the CLI's user"),
    FieldRule("user", "the CLI's user"),
)
TEXT_RULES = (
    TextRule(
        r"(?<![0-9a-fA-F-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9a-fA-F-])",
        "<uuid>",
        "sessions, tasks and messages have random names",
        r"-[0-9a-fA-F]{4}-",
    ),
    TextRule(
        r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?",
        "<time>",
        "the clock",
        r":\d\d",
    ),
    TextRule(
        r"((?:[Tt]oday's date(?: is)?|[Cc]urrent date|currentDate|<current_date>)[:\s]{0,3})"
        r"(?:\d{4}[-/]\d\d[-/]\d\d|[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d{4})",
        r"\g<1><date>",
        "the day on which a session runs stands in its prompt",
        r"oday's date|urrent date|currentDate|<current_date>",
    ),
    TextRule(r"\bcch=[0-9a-f]+", "cch=<hash>", "the CLI's billing line holds a hash of its own", "cch="),
    TextRule(
        r"/tmp/claude-[\w./-]+",  # noqa: S108 - a name in a text
        "<scratch>",
        "the CLI's scratch folders have random names",
        "/tmp/claude-",  # noqa: S108 - a name in a text
    ),
    TextRule(
        r"\bChunk ID: [0-9a-f]+",
        "Chunk ID: <id>",
        "codex numbers the output of commands at random",
        "Chunk ID: ",
    ),
    TextRule(
        r"\b(?:\d+m)?\d+\.\d+ ?(?:ms|s|sec|seconds)\b",
        "<duration>",
        "how long commands took",
        r"\.\d+ ?[ms]",
    ),
)
_COMPILED = tuple((re.compile(rule.mark), re.compile(rule.pattern), rule.to) for rule in TEXT_RULES)
_FIELDS = frozenset(rule.name for rule in FIELD_RULES)
_SHOWN = 80


class Difference(Struct, frozen=True):
    """Where two requests differ first."""

    path: str
    recorded: str
    asked: str

    def sentence(self) -> str:
        """For people."""
        return f"first difference at {self.path}: recorded {self.recorded}, asked {self.asked}"


def canonical_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request without what changes from run to run."""
    return {name: _plain(value) for name, value in request.items() if name not in _FIELDS}


def request_key(protocol: str, path: str, canonical: Mapping[str, Any]) -> str:
    """The digest by which an answer is found."""
    return digest_bytes(canonical_json([protocol, path, canonical]))


def first_difference(recorded: Any, asked: Any, path: str = "") -> Difference | None:
    """The first place, in the order of names and positions, at which two canonical values differ."""
    if isinstance(recorded, dict) and isinstance(asked, dict):
        names = sorted(recorded.keys() | asked.keys())
        pairs = [(f"{path}.{name}".lstrip("."), recorded.get(name), asked.get(name)) for name in names]
        return _first(pairs)
    if isinstance(recorded, list) and isinstance(asked, list):
        longest = max(len(recorded), len(asked))
        return _first(
            [(f"{path}[{number}]", _at(recorded, number), _at(asked, number)) for number in range(longest)]
        )
    if type(recorded) is type(asked) and recorded == asked:
        return None
    return Difference(path or "the request", *_around(recorded, asked))


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return _plain_text(value)
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _plain_text(text: str) -> str:
    for mark, pattern, to in _COMPILED:
        if mark.search(text):
            text = pattern.sub(to, text)
    return text


def _first(pairs: list[tuple[str, Any, Any]]) -> Difference | None:
    return next((found for path, one, other in pairs if (found := first_difference(one, other, path))), None)


def _at(values: list[Any], number: int) -> Any:
    return values[number] if number < len(values) else None


def _around(recorded: Any, asked: Any) -> tuple[str, str]:
    """Both values, short; of long texts the part where they part."""
    start = 0
    if isinstance(recorded, str) and isinstance(asked, str):
        same = (
            number for number, pair in enumerate(zip(recorded, asked, strict=False)) if pair[0] != pair[1]
        )
        start = max(0, next(same, min(len(recorded), len(asked))) - _SHOWN // 4)
    return _short(recorded, start), _short(asked, start)


def _short(value: Any, start: int) -> str:
    if value is None:
        return "nothing"
    shown = repr(value[start:] if isinstance(value, str) else value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"

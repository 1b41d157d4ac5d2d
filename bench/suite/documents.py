"""YAML and JSON files read strictly, with the line of everything in them for messages."""

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bench.config import KeyPath
from bench.suite.files import Refused, is_whole, shown

_MARK = "\ufeff"  # of the byte order, which some editors put first
_BLANKS = re.compile(r"[ \t\r\n]*")


class Document(Struct, frozen=True):
    """A file's plain value. `name` is what messages call the file; `lines` has the line (from 1) of each part."""

    name: str
    value: Any
    lines: Mapping[KeyPath, int]

    def part(self, path: KeyPath) -> Any:
        """The value at `path`, None where there is none."""
        value = self.value
        for key in path:
            if isinstance(value, list) and isinstance(key, int):
                value = value[key]
            else:
                value = value.get(key) if isinstance(value, dict) else None
        return value

    def line(self, path: KeyPath) -> int:
        """The line of a part, or of the nearest part around it that is there."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def place(self, path: KeyPath) -> str:
        """`file:line` of a part, as messages begin."""
        return f"{self.name}:{self.line(path)}"


def read_yaml(text: str, name: str) -> Document:
    """One strict YAML document: no duplicate keys, anchors, tags; only `true` and `false` are booleans.

    Dates, `yes`, octal and base-60 numbers stay text. Refused names file and line.
    """
    # PyYAML takes its time to load, and most commands read no suite.
    from bench.suite.strict_yaml import parse_yaml  # noqa: PLC0415

    value, lines = parse_yaml(text.removeprefix(_MARK), name)
    return Document(name, value, lines)


def read_json(text: str, name: str) -> Document:
    """One strict JSON document: no duplicate keys, NaN or infinities. Refused names file and line."""
    text = text.removeprefix(_MARK)
    try:
        json.loads(text, parse_constant=_refuse_constant)
        walk = _Walk(text, name)
        value, _ = walk.value(_skip(text, 0), ())
    except json.JSONDecodeError as error:
        raise Refused(f"{name}:{error.lineno}: is not valid JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise Refused(f"{name}:1: is not valid JSON: {error}") from error
    return Document(name, value, walk.lines)


class _Walk:
    """Goes once through text that is known to be JSON, and notes where each part begins."""

    def __init__(self, text: str, name: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._text = text
        self._name = name
        self._breaks = [match.start() for match in re.finditer("\n", text)]
        self._scalar = json.JSONDecoder().raw_decode

    def value(self, at: int, path: KeyPath) -> tuple[Any, int]:
        """The value that begins at offset `at`, and the offset behind it."""
        self.lines.setdefault(path, self._line(at))
        if self._text[at] == "{":
            return self._object(at, path)
        if self._text[at] == "[":
            return self._array(at, path)
        value, end = self._scalar(self._text, at)
        if isinstance(value, str):
            self._require_whole(value, at)
        return value, end

    def _object(self, at: int, path: KeyPath) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        at = _skip(self._text, at + 1)
        while self._text[at] != "}":
            key, end = self._scalar(self._text, at)
            self._require_whole(key, at)
            if key in found:
                first = self.lines[(*path, key)]
                raise Refused(
                    f"{self._name}:{self._line(at)}: the key `{shown(key)}` is there already, in line {first}"
                )
            self.lines[(*path, key)] = self._line(at)
            colon = _skip(self._text, end)
            found[key], at = self.value(_skip(self._text, colon + 1), (*path, key))
            at = self._next(at)
        return found, at + 1

    def _array(self, at: int, path: KeyPath) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = _skip(self._text, at + 1)
        while self._text[at] != "]":
            item, at = self.value(at, (*path, len(found)))
            found.append(item)
            at = self._next(at)
        return found, at + 1

    def _next(self, at: int) -> int:
        """The offset of the next item, or of the closing bracket."""
        at = _skip(self._text, at)
        return _skip(self._text, at + 1) if self._text[at] == "," else at

    def _line(self, at: int) -> int:
        return bisect_right(self._breaks, at - 1) + 1

    def _require_whole(self, text: str, at: int) -> None:
        if not is_whole(text):
            raise Refused(
                f"{self._name}:{self._line(at)}: holds half of a surrogate pair, which is no character"
            )


def _skip(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")

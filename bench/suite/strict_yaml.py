"""YAML without surprises: no duplicate keys, anchors or tags, and no text that turns into something else."""

import re
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from bench.config import KeyPath
from bench.suite.files import Refused, is_whole, shown

_DEEPEST = 32
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})")
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}

Lines = dict[KeyPath, int]


class _StrictLoader(yaml.SafeLoader):
    """Composes nodes only: what a plain scalar means is decided here, not by YAML 1.1."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - the attribute that PyYAML looks at

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise ComposerError(
                None, None, "anchors and aliases are not taken; write it out", event.start_mark
            )
        if getattr(event, "tag", None) is not None:
            raise ComposerError(None, None, "tags are not taken; leave it out", event.start_mark)
        if self._depth >= _DEEPEST:
            raise ComposerError(None, None, f"nested more than {_DEEPEST} levels deep", event.start_mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def parse_yaml(text: str, name: str) -> tuple[Any, Lines]:
    """The plain value of one YAML document and the line of each of its parts.

    Only `true` and `false` are booleans, only decimal numbers are numbers, only `null`, `~` and nothing are
    null; anything else is text. Refused names the file and line.
    """
    lines: Lines = {}
    try:
        node = _StrictLoader(text).get_single_node()
        if node is None:
            raise Refused(f"{name}:1: is empty")
        return _value(node, (), name, lines), lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise Refused(f"{name}:{line}: is not valid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise Refused(f"{name}:1: is not valid YAML: {str(error).splitlines()[0]}") from error


def _value(node: Node, path: KeyPath, name: str, lines: Lines) -> Any:
    lines.setdefault(path, _line(node))
    if isinstance(node, MappingNode):
        return _mapping(node, path, name, lines)
    if isinstance(node, SequenceNode):
        return [_value(item, (*path, number), name, lines) for number, item in enumerate(node.value)]
    return _scalar(node, name)


def _mapping(node: MappingNode, path: KeyPath, name: str, lines: Lines) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = _scalar(key_node, name) if isinstance(key_node, ScalarNode) else None
        if not isinstance(key, str):
            raise Refused(f"{name}:{_line(key_node)}: a key must be text; put it in quotes")
        if key in found:
            first = lines[(*path, key)]
            raise Refused(
                f"{name}:{_line(key_node)}: the key `{shown(key)}` is there already, in line {first}"
            )
        lines[(*path, key)] = _line(key_node)
        found[key] = _value(value_node, (*path, key), name, lines)
    return found


def _scalar(node: Node, name: str) -> Any:
    text: str = node.value
    if getattr(node, "style", None) is not None:
        return _whole(text, node, name)
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else _whole(text, node, name)


def _whole(text: str, node: Node, name: str) -> str:
    if not is_whole(text):
        raise Refused(f"{name}:{_line(node)}: holds half of a surrogate pair, which is no character")
    return text


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1

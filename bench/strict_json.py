"""JSON without surprises: no key twice in one object, no number that JSON does not know, no broken text."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec


def parse_json(content: str | bytes) -> Any:
    """The plain value of a JSON document; ValueError says what is wrong, a key that is there twice by its name.

    Two readers of a repeated key may each believe another of its values.
    """
    text = content.decode("utf-8") if isinstance(content, bytes) else content
    try:
        value = json.loads(text, object_pairs_hook=_each_key_once, parse_constant=_refuse_constant)
    except json.JSONDecodeError:
        msgspec.json.decode(text)  # says it in the words of every other file that is read
        raise
    msgspec.json.decode(text)  # refuses halves of surrogate pairs, which the standard library lets pass
    return value


def _each_key_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is there twice in one object")
        found[key] = value
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number that JSON knows")

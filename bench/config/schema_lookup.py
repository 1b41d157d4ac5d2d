"""What the schemas say about one key, those of extensions included."""

from collections.abc import Mapping
from typing import Any

from bench.config.complaint import KeyPath, dotted
from bench.config.resources import load_schema
from bench.config.schema_errors import TYPE_NAMES
from bench.config.validate import EXTENSIONS, section_at
from bench.extensions import load_extension

Schema = Mapping[str, Any]


def schema_at(path: KeyPath, values: Mapping[str, Any]) -> Schema:
    """The schema of the key at `path`; `values` say which extensions' options count. KeyError when there is none."""
    whole: Schema = load_schema("config")
    here: Schema = whole
    for depth, part in enumerate(path):
        here = _resolved(whole, _below(here, part, path))
        extension = _options_schema(path[: depth + 1], values)
        if extension is not None:
            whole, here = extension, {**extension, "description": here.get("description", "")}
    return here


def keys_below(path: KeyPath, keys: list[str], values: Mapping[str, Any]) -> dict[str, str]:
    """The dotted keys below `path`, each with its description."""
    return {dotted((*path, key)): str(schema_at((*path, key), values).get("description", "")) for key in keys}


def type_text(schema: Schema) -> str:
    """What values a schema takes, in words; empty when it does not say."""
    if "enum" in schema:
        return "one of " + ", ".join("null" if each is None else str(each) for each in schema["enum"])
    kinds = schema.get("type", [])
    names = " or ".join(TYPE_NAMES.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))
    bounds = [f"{words} {schema[key]}" for key, words in _BOUNDS.items() if key in schema]
    return ", ".join(filter(None, [names, *bounds, schema.get("$comment", "")]))


_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}


def _below(schema: Schema, part: str | int, path: KeyPath) -> Schema:
    found: Any
    if isinstance(part, int):
        found = schema.get("items", {})
    elif part in schema.get("properties", {}):
        found = schema["properties"][part]
    else:
        found = schema.get("additionalProperties", {})
    if found is False:
        raise KeyError(dotted(path))
    return found if isinstance(found, dict) else {}


def _resolved(whole: Schema, schema: Schema) -> Schema:
    reference = schema.get("$ref", "")
    if not reference.startswith("#/"):
        return schema
    target: Any = whole
    for step in reference.removeprefix("#/").split("/"):
        target = target[step]
    return {**target, **schema}


def _options_schema(path: KeyPath, values: Mapping[str, Any]) -> Schema | None:
    """The schema of an extension's options, if `path` is where they are."""
    for section, key, group in EXTENSIONS:
        chosen = section_at(section, values) if path == (*section, "options") else None
        if chosen:
            schema: Schema = load_extension(group, chosen[key]).options_schema
            return schema
    return None

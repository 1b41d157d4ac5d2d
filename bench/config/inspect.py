"""Answers about the configuration as text: which file wins, what the defaults tree is, what a key means."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.config.complaint import KeyPath, dotted, known_keys, parts, shown, value_at
from bench.config.composed import Composed
from bench.config.folders import groups, holders, options, purpose, search_folders
from bench.config.resources import load_schema
from bench.config.schema_lookup import Schema, keys_below, schema_at, type_text
from bench.errors import ConfigError
from bench.text import did_you_mean


def which(name: str, root: Path | None, config_dirs: Sequence[Path] = ()) -> str:
    """The file that wins for an option (`suite/wild`) or a prompt (`prompts/review.md`), and those it hides."""
    folders = search_folders(root, config_dirs)
    relative = name if name.endswith((".yaml", ".md")) else f"{name}.yaml"
    found = holders(folders, relative)
    if not found:
        known = [f"{group}/{option}" for group in groups(folders) for option in options(folders, group)]
        raise ConfigError(
            f"there is no option file {name!r}{did_you_mean(name, known)}\n"
            f"  looked in: {', '.join(str(folder.path) for folder in folders)}"
        )
    winner, *hidden = (f"{folder.path / relative}  ({folder.origin})" for folder in found)
    return "\n".join([winner, *(f"  hides {each}" for each in hidden)])


def tree(composed: Composed) -> str:
    """The defaults tree with the file of each entry, and which files are hidden by others."""
    return "\n".join([composed.tree, *(shadowing.line() for shadowing in composed.shadowed)])


def resolved_yaml(composed: Composed) -> str:
    """The resolved configuration as YAML. References to secrets stay references."""
    import yaml  # noqa: PLC0415 - needed for this one answer

    return str(yaml.safe_dump(composed.values, sort_keys=False, allow_unicode=True, width=110))


def explain(key: str, composed: Composed) -> str:
    """What a key or a group of options is for, its value and default, and where each comes from."""
    path = parts(key)
    if key == "experiment":
        about = load_schema("evolve")["properties"]["defaults"]["properties"]["experiment"]["description"]
        return "\n".join([f"experiment: {about}", *_option_lines(key, composed)])
    try:
        value, schema = value_at(composed.values, path), schema_at(path, composed.values)
    except KeyError as error:
        near = did_you_mean(key, [*known_keys(composed.values), "experiment"])
        top = ", ".join(sorted(composed.values))
        raise ConfigError(f"there is no key {key!r}{near}\n  at the top: {top}") from error
    lines = [_entry(dotted(path), schema.get("description", ""))]
    lines += _option_lines(key, composed) if key in composed.choices else []
    if isinstance(value, dict) and value:
        below = keys_below(path, list(value), composed.values)
        return "\n".join([*lines, "  keys:", *(f"    {_entry(*item)}" for item in below.items())])
    return "\n".join([*lines, *_value_lines(path, value, schema, composed)])


def _option_lines(group: str, composed: Composed) -> Iterator[str]:
    """The options of a group, each with the line that its file starts with; the chosen one is marked."""
    found = options(composed.folders, group)
    chosen = (composed.choices.get(group) or "").split(",")
    width = max(map(len, found), default=0)
    for option, folder in found.items():
        relative = f"{group}/{option}.yaml"
        mark = "*" if option in chosen else " "
        about = purpose(folder.path / relative)
        yield f"  {mark} {option:<{width}}  {about}  ({folder.label(relative)})"


def _value_lines(path: KeyPath, value: Any, schema: Schema, composed: Composed) -> Iterator[str]:
    origin = composed.origin(path)
    if takes := type_text(schema):
        yield f"  takes: {takes}"
    yield f"  value: {shown(value)}  ({origin or 'not given by a file'})"
    setting = [file for file in composed.files if file.sets(path)]
    if setting and setting[0].label != origin:
        yield f"  default: {shown(setting[0].value(path))}  ({setting[0].label})"


def _entry(key: str, about: str) -> str:
    return f"{key}: {about}" if about else key

"""Hydra's and OmegaConf's complaints in this project's words; nothing here imports them."""

import re
from collections.abc import Mapping, Sequence
from importlib.metadata import packages_distributions
from pathlib import Path
from traceback import extract_tb
from typing import Any

from bench.config.complaint import Complaint, KeyPath, dotted, known_keys, value_at
from bench.config.folders import ConfigFolder
from bench.config.option_files import OptionFiles
from bench.config.override import Override
from bench.errors import ConfigError
from bench.text import did_you_mean

_NOISE = re.compile(r"^\s*(See http|To append to your|full_key:|object_type=|reference_type=)")
_END = re.compile(r"^\s*(Config search path|Search path):")


def missing_option(
    config: str, available: Sequence[str], asked_by: str, folders: Sequence[ConfigFolder]
) -> ConfigError:
    """The error for an option file that does not exist; `asked_by` says who asked for it."""
    group, _, option = config.rpartition("/")
    if not available:
        looked_in = ", ".join(str(folder.path) for folder in folders)
        return ConfigError(f"{asked_by}: there is no file {config}.yaml\n  looked in: {looked_in}")
    return ConfigError(
        f"{asked_by}: the group {group} has no option {option!r}{did_you_mean(option, available)}\n"
        f"  options: {', '.join(available)}"
    )


def asker(config: str, message: str, overrides: Sequence[Override], files: OptionFiles) -> str:
    """Who asked for a missing option: an override, evolve.toml, or a file's defaults list."""
    group, _, option = config.rpartition("/")
    for override in overrides:
        values = override.value if isinstance(override.value, list) else [override.value]
        if config in [f"{override.key}/{value}" for value in values]:
            return override.label
    if files.defaults.get(group) == option:
        return "evolve.toml"
    parent = re.match(r"In '([^']+)'", message)
    named = files.label(parent[1]) if parent else None
    return files.asking_for(group, option) or named or "the configuration"


def plain_message(error: BaseException) -> str:
    """The useful lines of a message and its cause, without links, search paths and internal names."""
    if isinstance(error, RecursionError):
        return (
            "option files include each other without end; a file that extends the built-in one of its own "
            "name says /builtin/GROUP@_here_: NAME in its defaults list"
        )
    lines = [*str(error).splitlines(), *str(error.__cause__ or "").splitlines()]
    kept: list[str] = []
    for line in lines:
        if _END.match(line):
            break
        if line.strip() and not _NOISE.match(line) and line.strip() not in kept:
            kept.append(line.strip())
    text = "\n  ".join(kept) or type(error).__name__
    twice = "Multiple values for" in text or "more than once" in text
    return text + ("\n  a file that changes a choice says `override /GROUP: OPTION`" if twice else "")


def unresolved(path: KeyPath, content: Mapping[str, Any], error: BaseException) -> Complaint:
    """The complaint on the value at `path` of `content`, whose `${…}` does not resolve."""
    known = known_keys(content)
    raw = value_at(content, path) if dotted(path) in known else None
    names = re.findall(r"\$\{\s*([^${}:]+?)\s*\}", raw) if isinstance(raw, str) else []
    unknown = [name for name in names if name not in known and not name.startswith(".")]
    if unknown:
        return Complaint(path, f"${{{unknown[0]}}} refers to no key{did_you_mean(unknown[0], known)}")
    return Complaint(path, f"cannot be resolved: {plain_message(error)}")


def broken_plugin(error: BaseException) -> ConfigError | None:
    """The error for an installed Hydra plugin that keeps Hydra from starting; None if it was no plugin."""
    for frame in reversed(extract_tb(error.__traceback__)):
        steps = Path(frame.filename).parts
        if "hydra_plugins" in steps:
            owners = packages_distributions().get("hydra_plugins", [])
            return ConfigError(
                f"an installed Hydra plugin keeps Hydra from starting: {frame.filename}\n"
                f"  {type(error).__name__}: {error}\n"
                f"  uninstall the distribution that it belongs to"
                + (f" (one of {', '.join(sorted(set(owners)))})" if owners else "")
            )
    return None

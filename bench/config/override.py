"""One override of the command line, as data; and what is wrong with it before or after composing."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, structs

from bench.config.complaint import Complaint, KeyPath, brief, dotted, parts, shown, value_at
from bench.config.composed import CommandName
from bench.errors import ConfigError
from bench.text import did_you_mean

Action = Literal["change", "add", "force", "extend", "delete"]

DECIDING = ("proposer", "promotion")


class Override(Struct, frozen=True, kw_only=True):
    """A parsed override. `value` is meaningless for a sweep; `package` is the part of the key after `@`."""

    text: str
    key: str
    package: str | None
    action: Action
    sweep: bool
    value: Any

    @property
    def path(self) -> KeyPath:
        return parts(self.key)

    @property
    def label(self) -> str:
        """The text as part of a message."""
        return brief(self.text)

    def chooses(self, groups: Sequence[str]) -> bool:
        """Whether it chooses an option of one of the groups, rather than giving a value."""
        return self.key in groups and not isinstance(self.value, dict)


def grammar_text(value: str) -> str:
    """A text in quotes, as the grammar takes it literally."""
    escaped: list[str] = []
    backslashes = 0
    for character in value:
        if character == "'":  # the grammar halves the backslashes before a quote, and only those
            escaped.append("\\" * backslashes + "\\")
        backslashes = backslashes + 1 if character == "\\" else 0
        escaped.append(character)
    return f"'{''.join(escaped)}{chr(92) * backslashes}'"  # chr(92) is a backslash


def quoted(key: str, value: str) -> str:
    """`key=value` with the value as literal text, ready to be pasted into a shell."""
    text = f"{key}={grammar_text(value)}"
    return shlex.quote(text) if re.search(r'[$`"\\!]', text) else f'"{text}"'


def unreadable(text: str) -> ConfigError:
    """The error for an override that the grammar cannot read."""
    key, equals, value = text.partition("=")
    if not equals or not key.lstrip("+~"):
        return ConfigError(
            f"cannot read the override {shown(text)}\n"
            "  an override is KEY=VALUE, +KEY=VALUE to add a key, or ~KEY to remove one"
        )
    return ConfigError(f"cannot read the override {shown(text)}" + _quoting_hint(key, value))


def refuse_overrides(overrides: Sequence[Override], command: CommandName) -> None:
    """ConfigError for sweeps, for Hydra's own settings, and for what `bench` does not have."""
    for override in overrides:
        head = override.key.replace("/", ".").partition(".")[0]
        if override.sweep:
            raise _sweep(override)
        if head == "hydra":
            raise ConfigError(
                f"{override.label}: Hydra only composes here; its own settings cannot be changed"
            )
        if command == "bench" and head in DECIDING:
            raise ConfigError(
                f"{override.label}: bench takes all but {' and '.join(DECIDING)}; "
                "it measures and does not decide"
            )


def as_hydra_takes_it(override: Override, listed: Sequence[str]) -> Override:
    """`+group=option` as `group=option` and `group=null` as `~group`, for a group in the defaults list.

    ConfigError when something else than the name of an option is given.
    """
    if not override.chooses(listed) or override.action == "delete":
        return override
    key = override.key + (f"@{override.package}" if override.package else "")
    if override.value is None:
        return structs.replace(override, text=f"~{key}", action="delete")
    names = override.value if isinstance(override.value, list) else [override.value]
    if not all(isinstance(name, str) and ".." not in name for name in names):
        raise ConfigError(f"{override.label}: {key} takes the name of one of its options")
    return structs.replace(override, text=override.text.lstrip("+"), action="change")


def key_complaints(base: Mapping[str, Any], overrides: Sequence[Override]) -> list[Complaint]:
    """Which overrides of values cannot be applied to `base` one after the other, and why."""
    found = []
    added: list[KeyPath] = []
    for override in overrides:
        for path in _leaves(override.path, override.value):
            present = _present(base, path) or any(path[: len(each)] == each for each in added)
            if override.action == "add" and present and not isinstance(override.value, dict | list):
                found.append(Complaint((), f"{override.label}: the key is there already; leave the + out"))
            elif override.action in ("change", "extend", "delete") and not present:
                found.append(
                    Complaint((), f"{override.label}: there is no such key{_hint(base, override, path)}")
                )
        if override.action in ("add", "force"):
            added.append(override.path)
    return found


def _leaves(path: KeyPath, value: Any) -> list[KeyPath]:
    """The paths that a value gives: one, or those of the keys inside it."""
    if not isinstance(value, dict) or not value:
        return [path]
    return [leaf for key, inner in value.items() for leaf in _leaves((*path, key), inner)]


def _present(content: Mapping[str, Any], path: KeyPath) -> bool:
    try:
        value_at(content, path)
    except KeyError:
        return False
    return True


def _hint(base: Mapping[str, Any], override: Override, path: KeyPath) -> str:
    """The nearest key beside the first part of `path` that does not exist, and how to add a key there."""
    depth = next(depth for depth in range(1, len(path) + 1) if not _present(base, path[:depth]))
    around = value_at(base, path[: depth - 1])
    if not isinstance(around, dict):
        return f"; {dotted(path[: depth - 1])} is given as a whole"
    names = [dotted((*path[: depth - 1], key)) for key in around]
    near = did_you_mean(dotted(path[:depth]), names) or (
        f"; known there: {', '.join(names)}" if names else ""
    )
    return near + (f"; to add a new key: +{override.label}" if override.action == "change" else "")


def _sweep(override: Override) -> ConfigError:
    value = override.text.partition("=")[2]
    return ConfigError(
        f"{override.label} gives several values, which is a sweep, and a sweep is not available without -m"
        " (evolve -m …, bench -m …), which makes each of them a run of its own"
        + _quoting_hint(override.key, value)
    )


def _quoting_hint(key: str, value: str) -> str:
    """How to give a value as one text; nothing for what nobody would paste."""
    paste = quoted(key, value)
    return f"\n  if it is meant as one text, quote it: {paste}" if brief(paste) == paste else ""

"""The option files of a search path: found, read and checked once each, before anything in them is resolved."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.config.complaint import refuse
from bench.config.folders import ConfigFolder, groups, holders
from bench.config.guards import content_complaints, reference_secrets
from bench.digest import digest_bytes
from bench.errors import ConfigError

PRIMARY = "config"
ALIAS = "builtin/"

Header = dict[str, str | None]
Parser = Callable[[str, str], tuple[Any, Header]]


class OptionFile(Struct, frozen=True):
    """One option file as read: its unresolved content, and where it is."""

    folder: ConfigFolder
    relative: str
    content: dict[str, Any]
    header: Header
    digest: str

    @property
    def label(self) -> str:
        return self.folder.label(self.relative)


class OptionFiles:
    """Reads option files. `defaults` are the options that evolve.toml chooses; `parse` turns a text and the
    name of its file into content and header.
    """

    def __init__(self, folders: Sequence[ConfigFolder], defaults: Mapping[str, str], parse: Parser) -> None:
        self.folders = folders
        self.defaults = defaults
        self.groups = groups(folders)
        self._parse = parse
        self._read: dict[str, OptionFile] = {}

    def place(self, config: str) -> tuple[Sequence[ConfigFolder], str]:
        """The folders in which to look for `config`, and its path there."""
        if config.startswith(ALIAS):
            return self.folders[-1:], config.removeprefix(ALIAS)
        return self.folders, config

    def holders(self, config: str) -> tuple[ConfigFolder, ...]:
        """The folders that hold `config`; the first one's file is read."""
        folders, relative = self.place(config)
        return holders(folders, f"{relative}.yaml")

    def read(self, config: str) -> OptionFile:
        """The file that wins for `config`, which exists."""
        if config not in self._read:
            relative = f"{self.place(config)[1]}.yaml"
            self._read[config] = self._option_file(self.holders(config)[0], relative)
        return self._read[config]

    def labels(self) -> dict[str, str]:
        """How messages name the files that were read."""
        return {config: file.label for config, file in self._read.items()}

    def default_groups(self) -> tuple[str, ...]:
        """The groups in the defaults list of config.yaml."""
        return tuple(key for item in _items(self.read(PRIMARY).content) for key in _keys(item))

    def _option_file(self, folder: ConfigFolder, relative: str) -> OptionFile:
        label = folder.label(relative)
        raw, text = _read_text(folder.path / relative, label)
        content, header = self._parse(text, label)
        if not isinstance(content, dict):
            raise ConfigError(f"{label} must hold keys and values, not a {type(content).__name__}")
        content = reference_secrets(content)
        refuse(content_complaints(content), lambda _path: label)
        _check_form(relative, content, header, label)
        if relative == f"{PRIMARY}.yaml":
            _choose_defaults(_items(content), self.defaults, label)
        return OptionFile(folder, relative, content, header, digest_bytes(raw))


def _read_text(path: Path, label: str) -> tuple[bytes, str]:
    try:
        raw = path.read_bytes()
        return raw, raw.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{label} cannot be read: {error}") from error


def _check_form(relative: str, content: Mapping[str, Any], header: Header, label: str) -> None:
    """ConfigError for what Hydra would take without a word and nobody means."""
    named = [key.rpartition(" ")[2].lstrip("/") for item in _items(content) for key in _keys(item)]
    if "hydra" in content or any(key.startswith("hydra/") for key in named):
        raise ConfigError(f"{label}: Hydra only composes here; its own settings cannot be changed")
    if relative.startswith("experiment/") and header["package"] != "_global_":
        raise ConfigError(f"{label}: an experiment starts with the line `# @package _global_`")
    if relative == f"{PRIMARY}.yaml" and "_self_" not in _items(content):
        raise ConfigError(
            f"{label}: the defaults list must say where the file's own keys come in: `- _self_`"
        )


def _choose_defaults(items: Sequence[Any], defaults: Mapping[str, str], label: str) -> None:
    """Put the options of evolve.toml into a defaults list, so that experiments and overrides still beat them."""
    unused = dict(defaults)
    for item in items:
        if isinstance(item, dict):
            item.update({group: unused.pop(group) for group in item.keys() & unused.keys()})
    if unused:
        raise ConfigError(
            f"evolve.toml: defaults.{min(unused)}: {label} has no such group in its defaults list"
        )


def _items(content: Mapping[str, Any]) -> list[Any]:
    items = content.get("defaults")
    return items if isinstance(items, list) else []


def _keys(item: Any) -> list[str]:
    return [str(key) for key in item] if isinstance(item, dict) else []

"""The option files of a search path: found, read and checked once each, before anything in them is resolved."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.config.complaint import Complaint, refuse, shown
from bench.config.folders import ConfigFolder, groups, holders
from bench.config.guards import content_complaints, reference_secrets
from bench.digest import digest_bytes
from bench.disk import read_regular
from bench.errors import ConfigError

PRIMARY = "config"
MOST_BYTES = 1 << 20
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

    def asking_for(self, group: str, option: str) -> str | None:
        """The name of the last file read whose defaults list asks for an option."""
        asking = [file.label for file in self._read.values() if (group, option) in requests(file.content)]
        return asking[-1] if asking else None

    def label(self, config: str) -> str | None:
        """How messages name a file that was read."""
        return self._read[config].label if config in self._read else None

    def default_groups(self) -> tuple[str, ...]:
        """The groups in the defaults list of config.yaml."""
        return tuple(group for group, _ in requests(self.read(PRIMARY).content))

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
        raw = read_regular(path, MOST_BYTES)
        return raw, raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{label} cannot be read: {error}") from error


def _check_form(relative: str, content: Mapping[str, Any], header: Header, label: str) -> None:
    """ConfigError for a broken defaults list, and for what Hydra would take without a word and nobody means."""
    refuse(_defaults_complaints(content.get("defaults", [])), lambda _path: label)
    if "hydra" in content or any(group.startswith("hydra/") for group, _ in requests(content)):
        raise ConfigError(f"{label}: Hydra only composes here; its own settings cannot be changed")
    if relative.startswith("experiment/") and header["package"] != "_global_":
        raise ConfigError(f"{label}: an experiment starts with the line `# @package _global_`")
    if relative == f"{PRIMARY}.yaml" and "_self_" not in _items(content):
        raise ConfigError(
            f"{label}: the defaults list must say where the file's own keys come in: `- _self_`"
        )


def _defaults_complaints(defaults: Any) -> Iterator[Complaint]:
    if not isinstance(defaults, list):
        yield Complaint(("defaults",), f"must be a list, not {shown(defaults)}")
        return
    for index, item in enumerate(defaults):
        entries = (
            item
            if isinstance(item, dict) and len(item) == 1
            else {item: None}
            if isinstance(item, str)
            else {}
        )
        names = [name for key, value in entries.items() for name in (key, *_as_list(value))]
        if not names or not all(isinstance(name, str) for name in names):
            wanted = "must be a file's name, or one group with its option"
            yield Complaint(("defaults", index), f"{wanted}, not {shown(item)}")
        elif any(".." in name for name in names):
            yield Complaint(("defaults", index), "must stay inside the folders of option files: no `..`")


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


def requests(content: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """The groups in a defaults list, without keywords, package and leading slash, each with an option asked for."""
    return [
        (key.rpartition(" ")[2].partition("@")[0].lstrip("/"), option)
        for item in _items(content)
        if isinstance(item, dict)
        for key, value in item.items()
        for option in _as_list(value) or [None]
    ]


def _items(content: Mapping[str, Any]) -> list[Any]:
    items = content.get("defaults")
    return items if isinstance(items, list) else []


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]

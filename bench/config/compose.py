"""Composing with Hydra. The only module that imports Hydra or OmegaConf: import it only to compose.

Hydra reads every option file through `_Source`: each file is checked before anything in it is resolved, the
project's folders come before the built-in ones, and `/builtin/…` reaches a built-in file of the same name.
"""

import builtins
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from io import StringIO
from pathlib import Path
from typing import Any

import hydra
import yaml
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra._internal.defaults_list import DefaultsList
from hydra.core.default_element import DefaultsTreeNode, GroupDefault, InputDefault
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser, create_functions
from hydra.core.override_parser.types import ChoiceSweep, Glob, RangeSweep
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, MissingConfigException
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.types import RunMode
from hydra.version import setbase
from msgspec import structs
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from bench.config.aliases import refuse_bombs
from bench.config.axes import BLOCK, Axis, Swept, assignments, read_block, refuse_axes, word
from bench.config.complaint import Complaint, KeyPath, brief, dotted, parts, refuse
from bench.config.composed import CommandName, Composed
from bench.config.folders import options, search_folders
from bench.config.guards import (
    NO_REFERENCE,
    content_complaints,
    missing_paths,
    reference_secrets,
    refuse_credentials,
    value_complaints,
)
from bench.config.hydra_messages import asker, broken_plugin, missing_option, plain_message, unresolved
from bench.config.option_files import PRIMARY, Header, OptionFiles
from bench.config.override import (
    DECIDING,
    Action,
    Override,
    as_hydra_takes_it,
    key_complaints,
    refuse_overrides,
    unreadable,
)
from bench.config.provenance import Entry, draft
from bench.config.root import read_marker
from bench.digest import digest_bytes
from bench.errors import ConfigError

_FAILURES = (HydraException, OmegaConfBaseException, ValueError, AssertionError, RecursionError)
_ACTIONS: Mapping[str, Action] = {
    "CHANGE": "change",
    "ADD": "add",
    "FORCE_ADD": "force",
    "EXTEND_LIST": "extend",
    "DEL": "delete",
}


def compose(
    overrides: Sequence[str],
    *,
    root: Path | None,
    config_dirs: Sequence[Path] = (),
    command: CommandName = "evolve",
    point: bool = False,
) -> Composed:
    """The configuration that config.yaml, evolve.toml's defaults, an experiment and `overrides` make; each beats
    those before it. ConfigError says what is wrong, also where a `sweep:` block waits for -m and this is no `point`
    of one. In the main thread only, because Hydra shares state.
    """
    files = _option_files(overrides, root, config_dirs)
    chosen, config, listing = _composed(files, overrides, command)
    content = _unresolved(config, command)
    if content.pop(BLOCK, None) is not None and not point:
        raise ConfigError(
            "the configuration has a block sweep:, which gives several values to keys\n"
            "  to run one after the other: evolve -m …, bench -m …; for a single run, leave the block out: ~sweep"
        )
    composed = draft(files, _entries(listing), chosen, content, command)
    refuse((_missing(path, composed) for path in missing_paths(content)), composed.origin)
    values = _resolved(content, composed)
    refuse(value_complaints(values), composed.origin)
    tree = "\n".join(_tree(listing.defaults_tree, files))
    return structs.replace(composed, values=values, overrides=tuple(overrides), tree=tree)


def read_swept(
    overrides: Sequence[str],
    *,
    root: Path | None,
    config_dirs: Sequence[Path] = (),
    command: CommandName = "evolve",
) -> Swept:
    """What a multirun varies, by what was typed and by the `sweep:` block of the option files that its first point
    chooses. No point is composed whole. ConfigError also for an option that does not exist.
    """
    files = _option_files(overrides, root, config_dirs)
    read = [_axis_or_word(text, files) for text in overrides]
    axes = [each for each in read if isinstance(each, Axis)]
    fixed = [each for each in read if isinstance(each, str)]
    first = [f"{axis.key}={axis.values[0]}" for axis in axes if axis.values]
    _, config, _ = _composed(files, [*fixed, *first], command)
    block = read_block(_unresolved(config, command).get(BLOCK))
    axes += [_block_axis(key, values, files) for key, values in block.axes.items()]
    swept = Swept(
        command=command,
        fixed=tuple(fixed),
        axes=tuple(axes),
        zipped=tuple(tuple(group) for group in block.zip),
        include=assignments(block.include),
        exclude=assignments(block.exclude),
    )
    refuse_axes(swept, [_key_of(_grammar().parse_override(text)).lstrip("+~") for text in fixed])
    return swept


def _option_files(overrides: Sequence[str], root: Path | None, config_dirs: Sequence[Path]) -> OptionFiles:
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("composing works in the main thread only")
    refuse_credentials(overrides)
    defaults = read_marker(root).defaults if root else {}
    return OptionFiles(search_folders(root, config_dirs), defaults, _parsed_yaml)


def _composed(
    files: OptionFiles, overrides: Sequence[str], command: CommandName
) -> tuple[list[Override], DictConfig, DefaultsList]:
    """The overrides as Hydra takes them, and what it makes of them, unresolved."""
    parsed = [_parsed(override) for override in overrides]
    refuse_overrides(parsed, command)
    refuse((each for one in parsed for each in content_complaints(one.value, one.path)), lambda _path: None)
    listed = files.default_groups()
    chosen = [as_hydra_takes_it(override, listed) for override in parsed]
    return (chosen, *_load(_loader(files), files, chosen))


class _Source(ConfigSource):
    """All option files as one of Hydra's sources."""

    def __init__(self, files: OptionFiles) -> None:
        super().__init__(provider="incumbent", path="incumbent://")
        self._files = files

    def __deepcopy__(self, _memo: object) -> "_Source":
        return self  # Hydra copies its sources for every pass; what was read stays read

    @staticmethod
    def scheme() -> str:
        return "incumbent"

    def available(self) -> bool:
        return True

    def is_config(self, config_path: str) -> bool:
        return bool(self._files.holders(config_path.removesuffix(".yaml")))

    def is_group(self, config_path: str) -> bool:
        folders, relative = self._files.place(config_path)
        return any((folder.path / relative).is_dir() for folder in folders)

    def list(self, config_path: str, results_filter: ObjectType | None) -> builtins.list[str]:
        folders, relative = self._files.place(config_path)
        return [] if results_filter is ObjectType.GROUP else [*options(folders, relative)]

    def load_config(self, config_path: str) -> ConfigResult:
        file = self._files.read(config_path.removesuffix(".yaml"))
        return ConfigResult(
            provider=self.provider,
            path=str(file.folder.path / file.relative),
            config=OmegaConf.create(file.content),
            header=file.header,
        )


def _parsed_yaml(text: str, label: str) -> tuple[Any, Header]:
    """The content and header of an option file, read as Hydra's own sources read them."""
    try:
        refuse_bombs(text, label)
        content = OmegaConf.to_container(OmegaConf.load(StringIO(text)), resolve=False)
        return content, ConfigSource._get_header_dict(text)  # noqa: SLF001 - there is no public reader
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{label}{line}: {error.problem or error.context}") from error
    except OmegaConfBaseException as error:
        raise ConfigError(f"{label}: {error.full_key}: {NO_REFERENCE}") from error
    except RecursionError as error:
        raise ConfigError(
            f"{label} cannot be read: an alias in it stands for something around itself"
        ) from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{label} cannot be read: {error}") from error


def _parsed(text: str) -> Override:
    try:
        parsed = _grammar().parse_override(reference_secrets(text))
        sweep = parsed.is_sweep_override()
        value = None if sweep else parsed.value()
    except (*_FAILURES, TypeError) as error:
        raise unreadable(text) from error
    if not parsed.key_or_group:
        raise unreadable(text)
    return Override(
        text=text,
        key=parsed.key_or_group,
        package=parsed.package,
        action=_ACTIONS[parsed.type.name],
        sweep=sweep,
        value=value,
    )


def _grammar(*, sweeps: bool = False) -> OverridesParser:
    """Hydra's grammar of overrides without `shuffle`, which gives another list each time; among `sweeps` it takes an
    axis, whose order is then drawn by its own text.
    """
    functions = create_functions()
    del functions.definitions["shuffle"]
    if sweeps:
        functions.register(name="shuffle", func=_shuffled)
    return OverridesParser(functions)


def _shuffled(*args: Any, sweep: Any = None) -> ChoiceSweep | RangeSweep:
    values = sweep if sweep is not None else args[0] if len(args) == 1 else None
    marked = copy(values) if values is not None else ChoiceSweep(list=[*args], simple_form=True)
    if not isinstance(marked, ChoiceSweep | RangeSweep):
        raise TypeError("shuffle takes the values of an axis")
    marked.shuffle = True
    return marked


def _axis_or_word(text: str, files: OptionFiles) -> Axis | str:
    """An override that gives several values as an axis, another one as it is."""
    try:
        parsed = _grammar(sweeps=True).parse_override(reference_secrets(text))
        if not parsed.is_sweep_override():
            return text
        axis = Axis(_key_of(parsed), _values_of(parsed, text, files))
    except (*_FAILURES, TypeError) as error:
        raise unreadable(text) from error
    _refuse_options(axis, text, files)
    return axis


def _block_axis(key: str, values: str | builtins.list[Any], files: OptionFiles) -> Axis:
    if isinstance(values, str):
        axis = _axis_or_word(f"{key}={values}", files)
        return axis if isinstance(axis, Axis) else Axis(key, (word(values),))
    axis = Axis(key, tuple(word(value) for value in values))
    _refuse_options(axis, f"sweep.axes.{key}", files)
    return axis


def _values_of(parsed: Any, text: str, files: OptionFiles) -> tuple[str, ...]:
    """The values in the grammar's own words; a shuffled axis has the order that its text draws."""
    value = parsed._value  # noqa: SLF001 - there is no public reader
    if isinstance(value, Glob):
        return tuple(value.filter(builtins.list(options(files.folders, parsed.key_or_group))))
    if not getattr(value, "shuffle", False):
        return tuple(parsed.sweep_string_iterator())
    parsed._value = copy(value)  # noqa: SLF001
    parsed._value.shuffle = False  # noqa: SLF001
    found = builtins.list(parsed.sweep_string_iterator())
    random.Random(digest_bytes(text.encode())).shuffle(found)  # noqa: S311 - the same order each time
    return tuple(found)


def _key_of(parsed: Any) -> str:
    return str(parsed.get_key_element())


def _refuse_options(axis: Axis, text: str, files: OptionFiles) -> None:
    """ConfigError for the first option that a group does not have, known before anything is composed."""
    if axis.name not in files.groups:
        return
    known = options(files.folders, axis.name)
    for value in axis.values:
        if value.strip("'\"") not in known and value != "null" and not value.startswith("["):
            raise missing_option(f"{axis.name}/{value}", [*known], brief(text), files.folders)


def _loader(files: OptionFiles) -> ConfigLoaderImpl:
    """Hydra's composer over these files."""
    if hydra.__version__.startswith("1.3."):
        setbase("1.3")  # later versions behave so anyhow, and warn when asked to
    try:
        Plugins.instance()
    except Exception as error:
        explained = broken_plugin(error)
        if explained is None:
            raise
        raise explained from error
    path = ConfigSearchPathImpl()
    path.append("hydra", "pkg://hydra.conf")
    path.append("schema", "structured://")
    loader = ConfigLoaderImpl(path)
    loader.repository.sources.insert(0, _Source(files))
    return loader


def _load(
    loader: ConfigLoaderImpl, files: OptionFiles, overrides: Sequence[Override]
) -> tuple[DictConfig, DefaultsList]:
    """What Hydra makes of it, unresolved, and its list of files. Hydra's errors become ConfigError."""
    lines = [reference_secrets(override.text) for override in overrides]
    try:
        config = loader.load_configuration(PRIMARY, lines, RunMode.RUN, from_shell=False)
        return config, loader.compute_defaults_list(PRIMARY, lines, RunMode.RUN)
    except MissingConfigException as error:
        config_name = error.missing_cfg_file or "?"
        asked_by = asker(config_name, str(error), overrides, files)
        raise missing_option(config_name, error.options or (), asked_by, files.folders) from error
    except _FAILURES as error:
        _refuse_keys(loader, files, overrides)
        raise ConfigError(f"the configuration cannot be composed:\n  {plain_message(error)}") from error


def _refuse_keys(loader: ConfigLoaderImpl, files: OptionFiles, overrides: Sequence[Override]) -> None:
    """ConfigError for all overrides whose keys do not fit what the chosen options make without them."""
    giving = [each for each in overrides if not each.chooses(files.groups)]
    if giving:
        base, _ = _load(loader, files, [each for each in overrides if each.chooses(files.groups)])
        refuse(key_complaints(_unresolved(base, "evolve"), giving), lambda _path: None)


def _unresolved(config: DictConfig, command: CommandName) -> dict[str, Any]:
    """The composed content with its references, without Hydra's node and without what `bench` has not."""
    with open_dict(config):
        config.pop("hydra", None)
    content = _plain(config, resolve=False)
    return content | dict.fromkeys(DECIDING) if command == "bench" else content


def _resolved(content: dict[str, Any], composed: Composed) -> dict[str, Any]:
    try:
        return _plain(OmegaConf.create(content), resolve=True)
    except OmegaConfBaseException as error:
        refuse([unresolved(parts(str(error.full_key or "")), content, error)], composed.origin)
        raise


def _missing(path: KeyPath, composed: Composed) -> Complaint:
    return Complaint((), f"must be given: {dotted(path)}=…  ({composed.origin(path)})")


def _plain(config: DictConfig, *, resolve: bool) -> dict[str, Any]:
    content: Any = OmegaConf.to_container(config, resolve=resolve)
    return {str(key): value for key, value in content.items()}


def _entries(listing: DefaultsList) -> list[Entry]:
    return [
        Entry(each.config_path, each.package or "", each.parent or "")
        for each in listing.defaults
        if each.config_path and not each.config_path.startswith("hydra/")
    ]


def _tree(root: DefaultsTreeNode, files: OptionFiles) -> Iterator[str]:
    """The defaults tree as lines: what each entry is, and the file that it came to."""
    primary = (root.children or [])[-1]  # the other child is Hydra's own
    yield f"{PRIMARY}  ({files.read(PRIMARY).label})"
    if isinstance(primary, DefaultsTreeNode):
        yield from _branches(primary, files, "")


def _branches(node: DefaultsTreeNode, files: OptionFiles, indent: str) -> Iterator[str]:
    children = node.children or []
    for child in children:
        last = child is children[-1]
        default = child.node if isinstance(child, DefaultsTreeNode) else child
        yield f"{indent}{'└── ' if last else '├── '}{_entry_text(default, files)}"
        if isinstance(child, DefaultsTreeNode):
            yield from _branches(child, files, indent + ("    " if last else "│   "))


def _entry_text(default: InputDefault, files: OptionFiles) -> str:
    if default.is_self():
        return "_self_"
    if default.get_name() is None or default.is_deleted():
        return f"{default.get_override_key()}: {'(removed)' if default.is_deleted() else 'null'}"
    config = default.get_config_path()
    name = (
        f"{default.get_override_key()}: {default.get_name()}" if isinstance(default, GroupDefault) else config
    )
    return f"{name}  ({files.read(config).label})"

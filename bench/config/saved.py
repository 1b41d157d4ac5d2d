"""The configuration of a run as a file: written once, verified when read."""

from pathlib import Path
from typing import Any

import msgspec

from bench.config.complaint import refuse
from bench.config.composed import Composed
from bench.config.model import Config
from bench.config.resources import load_schema
from bench.config.schema_errors import schema_complaints
from bench.config.validate import freeze
from bench.digest import digest_json
from bench.disk import read_regular
from bench.errors import ConfigError
from bench.strict_json import parse_json

SAVED_SCHEMA = "config/1"


def config_digest(config: Config) -> str:
    """The identity of a configuration: SHA-256 over the canonical JSON of its values, however they were given."""
    return digest_json(config)


def saved_config(config: Config, composed: Composed) -> dict[str, Any]:
    """What config.json holds: the values with their digest, and what they were composed from."""
    return {
        "schema": SAVED_SCHEMA,
        "digest": config_digest(config),
        "config": msgspec.to_builtins(config),
        "overrides": list(composed.overrides),
        "sources": dict(composed.sources),
        "files": {file.label: file.digest for file in composed.files},
    }


def saved_again(path: Path, config: Config) -> dict[str, Any]:
    """What config.json holds of a run that repeats the one at `path` with another configuration."""
    return _content(path) | {"digest": config_digest(config), "config": msgspec.to_builtins(config)}


def read_saved_config(path: Path) -> Config:
    """The configuration in a config.json. ConfigError when it was edited, or written by another version."""
    content = _content(path)
    refuse(schema_complaints(load_schema("config-file"), content), lambda _path: str(path))
    values = content["config"]
    complaints = schema_complaints(load_schema("config"), values, ("config",))
    if complaints and digest_json(values) == content["digest"]:
        raise ConfigError(
            f"{path} was written by another version of incumbent, whose settings were others:\n"
            f"  {complaints[0].line()}\n"
            "  use that version for this run, or start a new one"
        )
    refuse(complaints, lambda _path: str(path))
    config = freeze(values)
    digest = config_digest(config)
    if digest != content["digest"]:
        raise ConfigError(
            f"{path} was changed after the run wrote it: its digest says {content['digest'][:12]}…, "
            f"its values make {digest[:12]}…\n"
            "  a saved configuration is evidence; to change a value, start a new run with an override"
        )
    return config


def read_overrides(path: Path) -> tuple[str, ...]:
    """The words that a saved configuration was composed from."""
    return tuple(_content(path)["overrides"])


def read_composed_files(path: Path) -> dict[str, str]:
    """The digest of each file that a saved configuration was composed from, by how messages name it; none in
    those that were saved before this was noted.
    """
    return dict(_content(path).get("files", {}))


def _content(path: Path) -> dict[str, Any]:
    try:
        content = parse_json(read_regular(path))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    found = content.get("schema") if isinstance(content, dict) else None
    if found != SAVED_SCHEMA:
        raise ConfigError(
            f"{path} is no saved configuration of this version: its schema is {found!r}, not {SAVED_SCHEMA!r}\n"
            "  use the version of incumbent that wrote it, or start a new run"
        )
    return dict(content)

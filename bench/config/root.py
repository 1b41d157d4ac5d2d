"""The project's root: the folder that holds `evolve.toml`, and what that file says."""

import tomllib
from pathlib import Path

from msgspec import Struct

from bench.config.complaint import refuse
from bench.config.resources import load_schema
from bench.config.schema_errors import schema_complaints
from bench.disk import kind_of, read_words
from bench.errors import ConfigError

MARKER = "evolve.toml"


class ProjectMarker(Struct, frozen=True):
    """What `evolve.toml` says: the project's name, and the option of each group that is the default here."""

    name: str
    defaults: dict[str, str]


def find_root(start: Path, explicit: Path | None = None) -> Path | None:
    """The nearest folder at or above `start` that holds evolve.toml; `explicit` (--root) must hold it itself."""
    if explicit is not None:
        return _explicit_root(explicit)
    folder = start.resolve()
    return next((each for each in (folder, *folder.parents) if _is_marked(each)), None)


def read_marker(root: Path) -> ProjectMarker:
    """The evolve.toml of `root`; ConfigError on broken TOML and unknown keys. The name defaults to the folder's."""
    path = root / MARKER
    try:
        content = tomllib.loads(read_words(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    refuse(schema_complaints(load_schema("evolve"), content), lambda _path: str(path))
    return ProjectMarker(content.get("name", root.resolve().name), content.get("defaults", {}))


def _is_marked(folder: Path) -> bool:
    """Whether a folder is a project. ConfigError for a marker that is there and cannot be read: to pass it over
    would be to work on another project. A folder of that name is none.
    """
    path = folder / MARKER
    found = kind_of(path)
    if found == "a folder":
        return False
    if found not in (None, "a file"):
        raise ConfigError(f"{path} is {found}, not a file\n  repair it, or name another project with --root")
    return found is not None


def _explicit_root(explicit: Path) -> Path:
    root = explicit.expanduser().resolve()
    if not _is_marked(root):
        raise ConfigError(
            f"--root {explicit} holds no {MARKER}\n"
            f"  give the folder of a project, or put an evolve.toml into {root} (docs/configuration.md)"
        )
    return root

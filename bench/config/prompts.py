"""Prompt files: found like option files, read as they are, never composed."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from bench.config.folders import holders, search_folders
from bench.disk import read_regular
from bench.errors import ConfigError


def read_prompt(name: str, root: Path | None, config_dirs: Sequence[Path] = ()) -> str:
    """The raw text of the prompt file `name`, relative to a folder of option files; the first folder wins."""
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise ConfigError(f"the prompt {name!r} must be a path inside a folder of option files")
    folders = search_folders(root, config_dirs)
    found = holders(folders, name)
    if not found:
        looked_in = "".join(f"\n    {folder.path / name}" for folder in folders)
        raise ConfigError(f"there is no prompt {name!r}\n  looked for:{looked_in}")
    try:
        return read_regular(found[0].path / name).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the prompt {found[0].label(name)} cannot be read: {error}") from error

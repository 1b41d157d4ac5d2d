"""The folders that hold option files, and which of two files of the same name wins."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from bench.config.resources import conf_folder
from bench.disk import kind_of
from bench.errors import ConfigError

Origin = Literal["--config-dir", "project", "built-in"]


class ConfigFolder(Struct, frozen=True):
    """A folder of option files and where it comes from."""

    path: Path
    origin: Origin

    def label(self, relative: str) -> str:
        """How a message names the file `relative` of this folder."""
        if self.origin == "built-in":
            return f"built-in {relative}"
        return f"conf/{relative}" if self.origin == "project" else str(self.path / relative)


def search_folders(root: Path | None, config_dirs: Sequence[Path] = ()) -> tuple[ConfigFolder, ...]:
    """The folders in the order in which they win: each --config-dir, the project's conf/, the built-in ones."""
    built_in = conf_folder()
    folders = [ConfigFolder(_existing(each), "--config-dir") for each in config_dirs]
    if root is not None and _is_there(root / "conf", "a folder"):
        folders.append(ConfigFolder((root / "conf").resolve(), "project"))
    kept: dict[Path, ConfigFolder] = {}
    for folder in folders:
        if folder.path != built_in:
            kept.setdefault(folder.path, folder)
    return (*kept.values(), ConfigFolder(built_in, "built-in"))


def holders(folders: Sequence[ConfigFolder], relative: str) -> tuple[ConfigFolder, ...]:
    """The folders that hold the file `relative`; the first one's wins."""
    return tuple(folder for folder in folders if _is_there(folder.path / relative, "a file"))


def options(folders: Sequence[ConfigFolder], group: str) -> dict[str, ConfigFolder]:
    """The options of a group in alphabetical order, each with the folder whose file wins."""
    found: dict[str, ConfigFolder] = {}
    for folder in reversed(folders):
        found |= dict.fromkeys((path.stem for path in (folder.path / group).glob("*.yaml")), folder)
    return dict(sorted(found.items()))


def groups(folders: Sequence[ConfigFolder]) -> tuple[str, ...]:
    """The names of all groups: folders that hold option files."""
    return tuple(sorted({group for folder in folders for group in _groups_of(folder)}))


def purpose(path: Path) -> str:
    """The comment that says what an option file is for: its first comment line that is no `@package` header."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        text = line.removeprefix("#").strip()
        if not line.startswith("#"):
            return ""
        if text and not text.startswith("@"):
            return text
    return ""


def _groups_of(folder: ConfigFolder) -> Iterator[str]:
    for child in folder.path.iterdir():
        if child.is_symlink() and not child.exists():
            raise ConfigError(f"{child} is {kind_of(child)}\n  repair it, or take it away")
        if child.is_dir() and any(child.glob("*.yaml")):
            yield child.name


def _is_there(path: Path, wanted: str) -> bool:
    """Whether something is at a path. ConfigError if it is not what was meant: it would be ignored silently."""
    found = kind_of(path)
    if found not in (None, wanted):
        raise ConfigError(f"{path} is {found}, not {wanted}\n  repair it, or take it away")
    return found is not None


def _existing(folder: Path) -> Path:
    resolved = folder.expanduser().resolve()
    if not resolved.is_dir():
        raise ConfigError(f"--config-dir {folder} is not a folder")
    return resolved

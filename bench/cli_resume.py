"""What both commands do before they go on with a run: read how it was configured, remove what a killed one left."""

from contextlib import suppress
from pathlib import Path

from bench.config import Config, read_saved_config
from bench.errors import RunError
from bench.project import RunFolder, own_store, remove_folder
from bench.results import ObjectStore
from bench.text import printable


def saved_config_of(run: RunFolder) -> Config:
    """The configuration that a run was begun with. RunError for one that was killed before it was written."""
    path = run.path / "config.json"
    if not path.exists():
        raise RunError(
            f"run {printable(run.id)} has no config.json: it was killed before it began, or the file was removed\n"
            "  start a new run with the same words, or restore the run folder from a copy"
        )
    return read_saved_config(path)


def tidy(run: RunFolder) -> None:
    """Remove the files and folders of the run and of the store that a killed process did not come to name. While
    others work on runs of the project they stay: they harm nothing.
    """
    with suppress(RunError), own_store(run.path.parent):
        ObjectStore(run.objects).remove_unfinished()
        for folder in (run.path, *run.path.glob("gen-*")):
            for path in folder.glob(".*-????????"):  # as tempfile names what bench.durable writes
                _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        remove_folder(path)
    else:
        path.unlink(missing_ok=True)

"""The stack of all that a run promoted, made of the frozen overlays of its generations. The folder `champion/` is a copy
of it for people and for `proposer=manual`; it is written last, and nothing depends on it.
"""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.config import Config
from bench.durable import sync_folder
from bench.errors import OverlayError
from bench.project import RunFolder, remove_folder
from bench.skills import Overlay, freeze_overlay, read_overlay, stack_overlays, write_overlay
from evolve.promoted.files import PromotedGeneration

CHAMPION = "champion"
START = "start"


def freeze_start(run: RunFolder, start: Overlay) -> None:
    """Keep what a run is built on (`unapplied=build_on`), before its first generation: its champion begins with it."""
    freeze_overlay(start, run.path / START)


def derive_champion(run: RunFolder, config: Config, generations: Sequence[PromotedGeneration]) -> Overlay:
    """What the run was built on, then all that it promoted, as one overlay. OverlayError if it cannot be read."""
    folder = run.path / START
    start = [read_overlay(folder, config.skills)] if folder.exists() or folder.is_symlink() else []
    return stack_overlays([*start, *(each.overlay for each in generations)])


def champion_faults(
    run: RunFolder, config: Config, generations: Sequence[PromotedGeneration], champion: Overlay
) -> Iterator[str]:
    """Where the stack is not the one that was sealed, and where `champion/` is not the stack. A run that was
    killed has no such folder.
    """
    sealed = generations[-1].proposed.champion
    if champion.digest != sealed:
        yield (
            f"{run.path}: what it was built on and its overlays do not make the champion that was measured: "
            f"their digest is {champion.digest}, plan.json says {sealed}"
        )
    folder = run.path / CHAMPION
    if folder.exists() or folder.is_symlink():
        yield from _copy_faults(folder, config, champion)


def write_champion(run: RunFolder, champion: Overlay) -> Path:
    """Write `champion/`, all of it or nothing, unless it is there. OverlayError says why it could not be written."""
    folder = run.path / CHAMPION
    if files_in(folder) == champion.files:
        return folder
    try:
        remove_champion(run)
        temporary = Path(tempfile.mkdtemp(prefix=f".{CHAMPION}-", dir=run.path))
        try:
            write_overlay(temporary, champion.files)
            temporary.chmod(0o755)
            for inner in [path for path in temporary.rglob("*") if path.is_dir()]:
                sync_folder(inner)
            sync_folder(temporary)
            temporary.rename(folder)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        sync_folder(run.path)
    except OSError as error:
        raise OverlayError(f"{folder} cannot be written: {error.strerror}") from error
    return folder


def remove_champion(run: RunFolder) -> None:
    """Remove a copy of what is not the champion any more."""
    if (run.path / CHAMPION).is_dir():
        remove_folder(run.path / CHAMPION)


def files_in(folder: Path) -> dict[str, bytes]:
    """The files below a folder, by their paths in it; none where there is no folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _copy_faults(folder: Path, config: Config, champion: Overlay) -> Iterator[str]:
    try:
        copy = read_overlay(folder, config.skills)
    except OverlayError as error:
        yield f"{folder}: {error}"
        return
    if copy.digest == champion.digest:
        return
    for path in sorted(copy.files.keys() | champion.files.keys()):
        if copy.files.get(path) != champion.files.get(path):
            yield f"{folder / path} is not what the run promoted"

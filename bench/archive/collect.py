"""Removes from the object store what no kept run so much as mentions."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from bench.archive.model import CollectReport
from bench.archive.objects import Contents, read_contents
from bench.archive.references import files_of, mentioned_by, mentioned_in
from bench.errors import RunError, UserError
from bench.project import RUNS, RunFolder, find_run, list_runs, own_store, refuse_in_progress, remove_folder

STAGING = ".import-"
REMOVED = ".pruned-"
_UNFINISHED = ".unfinished-"
_APART = frozenset(
    {"objects", "starter", "prepared"}
)  # the store, and what has references of its own or none


def collect_garbage(root: Path, keep: Sequence[str] = (), *, dry_run: bool = False) -> CollectReport:
    """Remove every object that no kept run mentions: those of `keep`, or all there are.

    RunError while any run of the project is in progress, and if a kept run cannot be read. Being killed on the way
    harms nothing: what is left is still what nobody refers to.
    """
    runs = root / RUNS
    if not runs.is_dir():
        return _report(dry_run, (), (), Contents({}, ()), (), ())
    for run in list_runs(root):
        refuse_in_progress(run, "is in progress, and nothing is removed from the store meanwhile")
    with own_store(runs):
        return _collect(root, [find_run(root, name) for name in keep] or list_runs(root), dry_run=dry_run)


def _collect(root: Path, kept: Sequence[RunFolder], *, dry_run: bool) -> CollectReport:
    store = root / RUNS / "objects"
    _refuse_links(store)
    contents = read_contents(store)
    mentioned = _mentioned(root, kept)
    doomed = [digest for digest in contents.objects if digest not in mentioned]
    leftovers = [*_unfinished(contents), *_staging(root / RUNS)]
    names = [run.id for run in kept]
    forgotten = [run.id for run in list_runs(root) if run.id not in names and _loses(run, set(doomed))]
    if not dry_run:
        _remove(contents, doomed, leftovers)
    return _report(dry_run, names, forgotten, contents, doomed, leftovers)


def _mentioned(root: Path, kept: Sequence[RunFolder]) -> set[str]:
    """By kept runs, and by whatever else lies beside them that is no run."""
    runs, mentioned = root / RUNS, {digest for run in kept for digest in mentioned_by(run)}
    known = {run.id for run in list_runs(root)}
    for path in runs.iterdir():
        if path.name in known | _APART or path.name.startswith((STAGING, REMOVED)):
            continue
        files = files_of(path, strict=False) if path.is_dir() else (path,) if path.is_file() else ()
        mentioned.update(digest for file in files for digest in mentioned_in(file))
    return mentioned


def _loses(run: RunFolder, doomed: Collection[str]) -> bool:
    try:
        return not mentioned_by(run).isdisjoint(doomed)
    except UserError:
        return True


def _refuse_links(store: Path) -> None:
    if store.is_symlink():
        raise RunError(
            f"{store} is a link: other projects may use what it leads to, so nothing is removed from it\n"
            "  give this project a store of its own, or remove by hand"
        )


def _unfinished(contents: Contents) -> list[Path]:
    """What writers left that were killed. There is none at work now."""
    return [path for path in contents.strays if path.name.startswith(_UNFINISHED)]


def _staging(runs: Path) -> list[Path]:
    return [path for path in runs.iterdir() if path.name.startswith((STAGING, REMOVED))]


def _remove(contents: Contents, doomed: Sequence[str], leftovers: Sequence[Path]) -> None:
    try:
        for digest in doomed:
            path = contents.objects[digest].path
            path.unlink()
            with suppress(OSError):  # it holds others
                path.parent.rmdir()
        for path in leftovers:
            remove_folder(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    except OSError as error:
        raise RunError(
            f"cannot remove {error.filename}: {error.strerror}\n"
            "  what was removed before it is gone, and nobody referred to it; fix the permissions, then try again"
        ) from error


def _report(
    dry_run: bool,
    kept: Sequence[str],
    forgotten: Sequence[str],
    contents: Contents,
    doomed: Sequence[str],
    leftovers: Sequence[Path],
) -> CollectReport:
    size = sum(contents.objects[digest].size for digest in doomed)
    return CollectReport(
        dry_run=dry_run,
        kept=tuple(kept),
        forgotten=tuple(forgotten),
        removed=len(doomed),
        removed_size=size,
        leftovers=len(leftovers),
        left=len(contents.objects) - len(doomed),
        left_size=contents.size - size,
    )

"""Takes an exported run in: all of it is checked in a folder that nobody looks into, then it becomes visible at once."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bench.archive.collect import STAGING
from bench.archive.manifest import LARGEST, MANIFEST, OBJECTS, RUN, Entry, Manifest, read_manifest
from bench.archive.model import ImportReport
from bench.archive.objects import content_digest, read_contents
from bench.archive.references import artifacts_of, files_of
from bench.archive.tape import TapeReader
from bench.archive.verify import check_objects
from bench.durable import sync_folder
from bench.errors import RunError
from bench.project import RUNS, RunFolder, remove_folder, use_store

MOST = 16 * 1024**3  # bytes that an archive may unpack to, unless more is asked for


def import_run(root: Path, archive: Path, most: int = MOST) -> ImportReport:
    """Take a run from a file that `export_run` wrote. Being killed on the way leaves nothing that anybody sees.

    RunError if the file is anything else, if a digest is wrong, if it unpacks to more than `most` bytes or than the
    disk has, or if there is another run of that name.
    """
    runs = root / RUNS
    try:
        runs.mkdir(exist_ok=True)
        with archive.open("rb") as file, use_store(runs), _staging(runs) as staging:
            manifest = _unpack(file, archive, staging, most)
            _verify(staging, manifest, archive)
            return _publish(staging, manifest, runs)
    except OSError as error:
        where = error.filename or archive
        raise RunError(
            f"{archive} cannot be imported: {where}: {error.strerror}\n  nothing was changed in {runs}"
        ) from error


@contextmanager
def _staging(runs: Path) -> Iterator[Path]:
    """A folder beside the runs that is no run; `bench store gc` removes what a kill leaves of it."""
    folder = Path(tempfile.mkdtemp(prefix=STAGING, dir=runs))
    try:
        yield folder
    finally:
        remove_folder(folder)


def _unpack(file: IO[bytes], archive: Path, staging: Path, most: int) -> Manifest:
    tape = TapeReader(file, str(archive))
    first = tape.next()
    if first is None or first[0] != MANIFEST or first[1] > LARGEST:
        raise RunError(f"{archive} holds no exported run: it does not begin with {MANIFEST}")
    manifest = read_manifest(b"".join(tape.content(first[1])), str(archive))
    _refuse_too_large(manifest, archive, staging, most)
    left = {each.path: each for each in manifest.files}
    while (member := tape.next()) is not None:
        name, size = member
        entry = left.pop(name, None)
        if entry is None or entry.size != size:
            raise RunError(f"{archive} is refused: {name!r} is not a file of its manifest")
        _unpack_one(tape, entry, staging, archive)
    if left:
        raise RunError(f"{archive} is refused: {len(left)} files of its manifest are not in it")
    return manifest


def _refuse_too_large(manifest: Manifest, archive: Path, staging: Path, most: int) -> None:
    free = shutil.disk_usage(staging).free
    if manifest.size > min(most, free):
        limit = f"the limit is {most} (--most)" if most < free else f"the disk has {free}"
        raise RunError(f"{archive} unpacks to {manifest.size} bytes; {limit}")


def _unpack_one(tape: TapeReader, entry: Entry, staging: Path, archive: Path) -> None:
    target, state = staging / entry.path, hashlib.sha256()
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = 0o600 if entry.path.startswith(f"{OBJECTS}/") else 0o644
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(target, flags, mode), "wb") as file:
        for piece in tape.content(entry.size):
            state.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    if state.hexdigest() != entry.digest:
        raise RunError(f"{archive} is refused: the content of {entry.path!r} does not have its digest")


def _verify(staging: Path, manifest: Manifest, archive: Path) -> None:
    """The run must have rows that can be read, and bring every artifact that they name."""
    run = RunFolder(staging / RUN)
    if not (run.path / "config.json").is_file():
        raise RunError(f"{archive} holds no exported run: it has no config.json")
    broken = check_objects(read_contents(staging / OBJECTS), artifacts_of(run))
    if broken:
        raise RunError(
            f"{archive} is refused: {len(broken)} artifacts of run {manifest.run} are not in it, or not whole"
        )


def _publish(staging: Path, manifest: Manifest, runs: Path) -> ImportReport:
    """Objects first: without the run that refers to them, they are nothing to anybody."""
    target = runs / manifest.run
    there = os.path.lexists(target)
    if there:
        _refuse_another(target, manifest)
    new = _publish_objects(staging / OBJECTS, runs / "objects")
    if not there:
        for folder, _, _ in os.walk(staging / RUN):
            sync_folder(Path(folder))
        (staging / RUN).rename(target)
        sync_folder(runs)
    files = sum(each.path.startswith(f"{RUN}/") for each in manifest.files)
    return ImportReport(
        run=manifest.run,
        folder=str(target),
        outcome="already-there" if there else "imported",
        files=files,
        objects=new,
    )


def _refuse_another(target: Path, manifest: Manifest) -> None:
    """RunError unless the run that has the name holds the very files of the archive."""
    wanted = {each.path: each.digest for each in manifest.files if each.path.startswith(f"{RUN}/")}
    own = {f"{RUN}/{path.relative_to(target).as_posix()}": content_digest(path) for path in files_of(target)}
    if target.is_symlink() or own != wanted:
        raise RunError(
            f"there is another run {manifest.run} in {target.parent}\n"
            "  a run is never overwritten; move that one out of the way, or import into another project"
        )


def _publish_objects(staged: Path, store: Path) -> int:
    """How many were new. One that is there and intact stays; one that was damaged is replaced."""
    new = 0
    for each in read_contents(staged).objects.values():
        target = store / each.digest[:2] / each.digest[2:]
        if target.is_file() and not target.is_symlink() and content_digest(target) == each.digest:
            continue
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        each.path.replace(target)
        sync_folder(target.parent)
        new += 1
    if new:
        sync_folder(store)
    return new

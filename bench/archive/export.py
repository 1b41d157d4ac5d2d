"""One run as one file: its folder, the objects that it mentions, and a manifest of all of it."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.archive.manifest import (
    MANIFEST,
    RUN,
    Entry,
    Manifest,
    manifest_bytes,
    object_path,
)
from bench.archive.model import ExportReport
from bench.archive.objects import Contents, content_digest, read_contents
from bench.archive.references import artifacts_of, files_of, mentioned_by
from bench.archive.tape import PIECE, TapeWriter
from bench.archive.verify import check_objects
from bench.durable import sync_folder
from bench.errors import RunError
from bench.project import RunFolder, refuse_in_progress, use_store
from bench.text import printable


def export_run(run: RunFolder, target: Path) -> ExportReport:
    """Write the run to a new file. The same run gives the same bytes.

    RunError if the run is in progress, if an artifact of it is missing or changed, if `target` is there already or
    cannot be written. Nothing is left at `target` then.
    """
    refuse_in_progress(run, "cannot be exported while it is in progress")
    if run.path.is_symlink():
        raise RunError(f"{run.path} is a link\n  export the run where it lies: --root")
    with use_store(run.path.parent):
        contents = read_contents(run.objects)
        _refuse_broken(run, contents)
        sources = _sources(run, contents)
        manifest = Manifest(
            schema_version=1,
            run=run.id,
            files=tuple(Entry(path, *_identity(source)) for path, source in sources.items()),
        )
        head = manifest_bytes(manifest)
        digest, size = _write(target, head, manifest, sources)
    files = sum(path.startswith(f"{RUN}/") for path in sources)
    return ExportReport(
        run=run.id, file=str(target), size=size, digest=digest, files=files, objects=len(sources) - files
    )


def _refuse_broken(run: RunFolder, contents: Contents) -> None:
    broken = check_objects(contents, artifacts_of(run))
    if broken:
        listed = "".join(f"\n  {digest}: {problem}" for digest, problem in sorted(broken.items())[:10])
        raise RunError(
            f"run {printable(run.id)} cannot be exported: {len(broken)} of its artifacts are not as they were:{listed}"
        )


def _sources(run: RunFolder, contents: Contents) -> dict[str, Path]:
    """Each file by its place in the archive, the run's own first."""
    own = {f"{RUN}/{path.relative_to(run.path).as_posix()}": path for path in files_of(run.path)}
    mentioned = sorted(mentioned_by(run) & contents.objects.keys())
    return own | {object_path(digest): contents.objects[digest].path for digest in mentioned}


def _identity(path: Path) -> tuple[int, str]:
    try:
        return path.stat().st_size, content_digest(path)
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}") from error


def _write(target: Path, head: bytes, manifest: Manifest, sources: dict[str, Path]) -> tuple[str, int]:
    """Digest and size of the archive, which has its name only once it is whole and on the disk."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}-", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                tape = TapeWriter(file)
                tape.add(MANIFEST, len(head), iter((head,)))
                for each in manifest.files:
                    tape.add(each.path, each.size, _pieces(sources[each.path]))
                tape.close()
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
            os.link(name, target)
        finally:
            Path(name).unlink()
        sync_folder(target.parent)
        return content_digest(target), size
    except FileExistsError as error:
        raise RunError(f"{target} exists already\n  choose another name, or remove it") from error
    except OSError as error:
        raise RunError(f"cannot write {target}: {error.strerror}") from error


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece

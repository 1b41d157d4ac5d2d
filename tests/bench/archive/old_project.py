"""The stored project of version 1: what commit 8a2fccb left of one `evolve` and one `bench` run, as it left it."""

import gzip
import io
import shutil
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bench.archive.manifest import Entry
from bench.digest import canonical_json, digest_bytes
from bench.project import RunFolder

FIXTURE = Path(__file__).parents[2] / "fixtures" / "run-v1"
EVOLVE_RUN = "20261130T200026Z-3a580d-4af6"
BENCH_RUN = "20261130T200103Z-cca53c-6286"


def old_project(folder: Path) -> Path:
    """A project with a copy of the stored runs; its root."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "evolve.toml").write_text('name = "old"\n')
    shutil.copytree(FIXTURE / "runs", folder / "runs")
    return folder


def run_of(root: Path, name: str = EVOLVE_RUN) -> RunFolder:
    return RunFolder(root / "runs" / name)


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def edit_json(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = msgspec.json.decode(path.read_bytes())
    change(content)
    path.write_bytes(canonical_json(content) + b"\n")


def members(archive: Path) -> dict[str, bytes]:
    """What an ordinary tar program finds in an archive."""
    with tarfile.open(archive) as tar:
        return {each.name: tar.extractfile(each).read() for each in tar}  # type: ignore[union-attr]


def forged(path: Path, run: str, files: Mapping[str, bytes], **more: Any) -> Path:
    """An archive of these files with a manifest that fits them, or what `more` says of it."""
    entries = [Entry(name, len(content), digest_bytes(content)) for name, content in files.items()]
    manifest = {"schema_version": 1, "run": run, "files": entries} | more
    return packed(path, {"manifest.json": canonical_json(manifest)} | dict(files))


def packed(path: Path, files: Mapping[str, bytes], kind: bytes = tarfile.REGTYPE) -> Path:
    """A tar archive of these files, as any program may write it; those but the first are of that kind."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for index, (name, content) in enumerate(files.items()):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            if index and kind != tarfile.REGTYPE:
                info.type, info.linkname, info.size = kind, "/etc/passwd", 0
            tar.addfile(info, io.BytesIO(content))
    path.write_bytes(gzip.compress(out.getvalue()))
    return path

"""Which way of making working copies is used on this machine."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from bench.errors import SandboxUnavailable
from bench.sandbox import Sandbox
from bench.workspace.copies import CopyWorkspaces
from bench.workspace.folders import clone_file
from bench.workspace.overlay import OverlayWorkspaces
from bench.workspace.protocol import Workspaces

Mode = Literal["auto", "overlay", "reflink", "copy"]


def choose_workspaces(mode: Mode, sandbox: Sandbox, scratch: Path) -> Workspaces:
    """The way named by `mode`, or with "auto" the cheapest that works: overlay, reflink, copy. Tried in `scratch`,
    where templates and cells will be. SandboxUnavailable if the named one does not work here.
    """
    layered = sandbox.contains and sandbox.can_layer(scratch)
    cloning = mode in ("auto", "reflink") and not (mode == "auto" and layered) and can_clone(scratch)
    if mode == "overlay" and not layered:
        raise SandboxUnavailable(
            f"sandbox.workspace=overlay does not work here: the sandbox {sandbox.name!r} cannot lay one folder over "
            "another on this file system; set sandbox.workspace=auto"
        )
    if mode == "reflink" and not cloning:
        raise SandboxUnavailable(
            f"sandbox.workspace=reflink does not work here: the file system of {scratch} cannot share blocks between "
            "files (Btrfs, XFS and bcachefs can); set sandbox.workspace=auto, or sandbox.scratch to such a file system"
        )
    if mode in ("auto", "overlay") and layered:
        return OverlayWorkspaces()
    return CopyWorkspaces("reflink" if cloning else "copy", layered=layered)


def can_clone(folder: Path) -> bool:
    """Whether two files in `folder` can share their blocks."""
    with TemporaryDirectory(dir=folder, prefix="clone-") as place:
        source = Path(place) / "source"
        source.write_bytes(b"shared\n" * 1024)
        try:
            with source.open("rb") as original, source.with_name("clone").open("xb") as clone:
                clone_file(original.fileno(), clone.fileno())
        except OSError:
            return False
    return True

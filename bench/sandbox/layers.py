"""Trying overlays for real, before anything depends on them."""

import stat
from pathlib import Path

from bench.cancellation import Cancellation
from bench.sandbox.protocol import Command, Layered, Mount, Sandbox

_PLACE = "/layers"

# Deletes a file, replaces a folder by another of the same name, adds and changes a file.
_CHANGE = "rm gone && rm -r folder && mkdir folder && echo new > folder/new && echo more >> changed"
_CHECK = (
    "test ! -e gone && test ! -e folder/old && test -e folder/new && test \"$(cat changed)\" = 'old\nmore'"
)
_SECONDS = 20.0


def layers_work(sandbox: Sandbox, folder: Path) -> bool:
    """Whether, below `folder`, changes of a layered tree arrive in its upper folder in the form that is relied on
    (a deletion as a character device 0/0), and are seen when that folder is a layer under another one.
    """
    lower, upper, work = (folder / name for name in ("lower", "upper", "work"))
    for part in (lower / "folder", upper, work):
        part.mkdir(parents=True)
    for path in (lower / "gone", lower / "folder" / "old", lower / "changed"):
        path.write_text("old\n")
    return (
        _succeeds(sandbox, Layered((lower,), _PLACE, upper, work), _CHANGE)
        and _is_deletion(upper / "gone")
        and _succeeds(sandbox, Layered((lower, upper), _PLACE, throwaway=True), _CHECK)
    )


def _succeeds(sandbox: Sandbox, mount: Mount, script: str) -> bool:
    command = Command(
        argv=("/bin/sh", "-c", script),
        directory=_PLACE,
        environment={"PATH": "/usr/bin:/bin"},
        mounts=(mount,),
        seconds=_SECONDS,
    )
    with Cancellation() as cancellation:
        return sandbox.run(command, cancellation).succeeded


def _is_deletion(path: Path) -> bool:
    """Whether overlayfs's mark of a deleted file is at `path`."""
    status = path.lstat()
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0

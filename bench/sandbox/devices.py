"""The device nodes that a sandbox shares with the host.

Run by root, the sandbox owns them and could change their modes, as bubblewrap has no way to show a device read-only.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

_SHARED = ("null", "zero", "full", "random", "urandom", "tty")


def device_modes(folder: Path = Path("/dev")) -> Mapping[Path, int]:
    """The modes of the shared nodes that this process could change; none unless it owns them."""
    nodes = (folder / name for name in _SHARED)
    statuses = {node: node.stat() for node in nodes if node.exists()}
    return {
        node: stat.S_IMODE(status.st_mode)
        for node, status in statuses.items()
        if status.st_uid == os.geteuid()
    }


def restore_modes(modes: Mapping[Path, int]) -> tuple[str, ...]:
    """Give nodes their modes again; the paths of those that had lost them."""
    changed = tuple(node for node, mode in modes.items() if stat.S_IMODE(node.stat().st_mode) != mode)
    for node in changed:
        node.chmod(modes[node])
    return tuple(map(str, changed))

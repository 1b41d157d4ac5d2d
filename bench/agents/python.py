"""The interpreter for agents that are Python programs of this project or of a user."""

import sys

from bench.sandbox import Layout, Mount, python_mounts


def interpreter(layout: Layout) -> tuple[str, tuple[Mount, ...]]:
    """The interpreter's path as the sandbox shows it, and the mounts that it needs there."""
    return python_mounts() if layout.contained else (sys.executable, ())

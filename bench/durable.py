"""Files that are there as a whole, and still there after a power cut."""

import os
import tempfile
from pathlib import Path

from bench.line_file import sync_folder


def write_durably(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file at once or not at all; the disk has it, and its name, before this returns. OSError if it cannot."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)

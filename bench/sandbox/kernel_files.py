"""Files that the kernel makes up as they are read: short, read and written often, so without buffers."""

import os
from pathlib import Path


def read_kernel_file(path: str | Path) -> bytes:
    """All of it; OSError if it is not there."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return b"".join(iter(lambda: os.read(descriptor, 65536), b""))
    finally:
        os.close(descriptor)


def write_kernel_file(path: str | Path, value: int) -> None:
    """Write a number; OSError if the kernel refuses it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, b"%d" % value)
    finally:
        os.close(descriptor)

"""Changes the folder that it is started in, as told on stdin. Runs inside the sandbox, with nothing but Python."""

import base64
import json
import os
import shutil
import sys
from collections.abc import Callable


def clear(path: bytes) -> None:
    """Make room for something new at `path`, also where a file stands in for one of its folders."""
    parts = path.split(b"/")
    for length in range(1, len(parts)):
        above = b"/".join(parts[:length])
        if os.path.lexists(above) and (os.path.islink(above) or not os.path.isdir(above)):
            os.unlink(above)
    delete(path)
    os.makedirs(os.path.dirname(path) or b".", exist_ok=True)


def delete(path: bytes) -> None:
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    elif os.path.isdir(path):
        shutil.rmtree(path)


def write(path: bytes, content: bytes, executable: bool) -> None:
    clear(path)
    with open(path, "wb") as stream:
        stream.write(content)
    os.chmod(path, 0o755 if executable else 0o644)


def edit(path: bytes, content: bytes) -> None:
    """Write in place, through the same inode, at the same time of modification."""
    if os.path.isfile(path) and not os.path.islink(path):
        status = os.stat(path)
        with open(path, "r+b") as stream:
            stream.write(content)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def link(path: bytes, target: bytes) -> None:
    clear(path)
    os.symlink(target, path)


def mode(path: bytes, bits: int) -> None:
    if os.path.isfile(path) and not os.path.islink(path):
        os.chmod(path, bits)


def touch(path: bytes) -> None:
    if os.path.isfile(path) and not os.path.islink(path):
        os.utime(path)


def folder(path: bytes) -> None:
    clear(path)
    os.makedirs(path)


def again(path: bytes) -> None:
    """Replace a folder by a new one with the same content."""
    if os.path.isdir(path) and not os.path.islink(path):
        place = os.fsdecode(path)
        shutil.copytree(place, "aside", symlinks=True)
        shutil.rmtree(place)
        shutil.move("aside", place)


ACTIONS: dict[str, Callable[..., None]] = {
    action.__name__: action for action in (write, edit, link, delete, mode, touch, folder, again)
}

for name, *parts in json.load(sys.stdin):
    ACTIONS[name](*(base64.b64decode(part) if isinstance(part, str) else part for part in parts))

"""Paths inside a tree: bytes, relative, separated by '/'. Pure."""

import re
from collections.abc import Collection

from bench.errors import WorkspaceError
from bench.text import printable

# Longer relative paths are not followed: they stay clear of the kernel's 4096 bytes wherever the tree lies.
LONGEST_PATH = 2048

_FORBIDDEN = (b"", b".", b"..")


def shown(path: bytes) -> str:
    """A path for a message: undecodable bytes and control characters as escapes."""
    return printable(path.decode("utf-8", "backslashreplace"))


def is_repository_part(path: bytes) -> bool:
    """Whether git itself refuses to track this path: one of its components is `.git`, in any case."""
    return b".git" in path.lower().split(b"/")


def is_repository(path: bytes) -> bool:
    """Whether this is the `.git` of a tree, or in it."""
    return path.split(b"/", 1)[0] == b".git"


def is_patchable(path: bytes) -> bool:
    """Whether `git apply` can read this path back from a patch: not within a `.git`, and not below a folder whose
    name ends in a blank, where it loses track of where the name ends.
    """
    return not is_repository_part(path) and b" /" not in path


def checked(path: bytes, what: str) -> bytes:
    """`path`, or WorkspaceError if it could lead out of its tree or into a `.git`. `what` begins the message."""
    if _leads_out(path) or is_repository_part(path):
        raise WorkspaceError(
            f"{what}: {shown(path)!r} is not a path inside a tree (relative, without '.', '..' and '.git')"
        )
    return path


def relative(text: str, what: str) -> bytes:
    """A path of the harness as bytes, checked; a slash at its end is dropped."""
    return checked(text.removesuffix("/").encode("utf-8", "surrogateescape"), what)


def readable(text: str) -> bytes:
    """A path of the harness to read from, which may lie in a `.git`; WorkspaceError if it could lead elsewhere."""
    path = text.encode("utf-8", "surrogateescape")
    if _leads_out(path):
        raise WorkspaceError(
            f"a path to read: {shown(path)!r} is not inside a tree (relative, without '.' and '..')"
        )
    return path


def _leads_out(path: bytes) -> bool:
    return any(part in _FORBIDDEN for part in path.split(b"/")) or b"\0" in path


def is_within(path: bytes, prefixes: Collection[bytes]) -> bool:
    """Whether `path` is one of the prefixes or lies below one."""
    return any(path == prefix or path.startswith(prefix + b"/") for prefix in prefixes)


def literal(path: bytes) -> bytes:
    """A pattern of git's that matches this very path."""
    return re.sub(rb"([\\*?\[\]])", rb"\\\1", path)

"""What a bubblewrap sandbox shows: the options for the system, and for the mounts of a command."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import assert_never

from bench.errors import SandboxError
from bench.sandbox.protocol import Hidden, Layered, Mount, ReadOnly, Writable

ROOT = Path("/")

# Every namespace; no further user namespace inside; nothing of the terminal; dies with this program.
NAMESPACES = (
    "--unshare-user",
    "--unshare-all",
    "--disable-userns",
    *("--uid", "1000"),
    *("--gid", "1000"),
    *("--hostname", "cell"),
    "--die-with-parent",
    "--new-session",
)

# Who is who and what is where, inside. Nothing of it comes from this host.
FILES = {
    "/etc/passwd": "agent:x:1000:1000::/home/agent:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
    "/etc/group": "agent:x:1000:\nnogroup:x:65534:\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "/etc/hosts": "127.0.0.1 localhost cell\n::1 localhost\n",
}

# The certificates but not /etc/ssl/private: run by root, the sandbox could read the keys there.
SHOWN = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/certs", "/etc/ssl/openssl.cnf")

_LINKED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")

# Kernel settings below /proc/sys belong to root. Run by root, the sandbox could write those of the host, were they
# not read-only.
SEALS = ("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev")


def system_trees(root: Path = ROOT) -> tuple[Path, ...]:
    """The folders of the system that are shown: /usr, and those beside it that are no links into it."""
    beside = (root / name for name in _LINKED)
    return (root / "usr", *(path for path in beside if path.is_dir() and not path.is_symlink()))


def system_options(root: Path = ROOT) -> list[str]:
    """Options that show the system's programs and libraries, read-only, and nothing else of it."""
    options = []
    for tree in system_trees(root):
        options += ["--ro-bind", str(tree), f"/{tree.name}"]
    for name in _LINKED:
        if (root / name).is_symlink():
            options += ["--symlink", str((root / name).readlink()), f"/{name}"]
    for path in SHOWN:
        options += ["--ro-bind-try", path, path]
    return options


def private_options(memory: int | None) -> list[str]:
    """Options for the folders in memory that vanish with the command; half of its memory at most, as it counts."""
    size = [] if memory is None else ["--size", str(memory // 2)]
    options = []
    for folder in ("/tmp", "/dev/shm"):  # noqa: S108 - inside
        options += ["--perms", "1777", *size, "--tmpfs", folder]
    return [*options, "--remount-ro", "/dev", "--perms", "0755", *size, "--tmpfs", "/run"]


def mask_options(paths: Iterable[Path]) -> list[str]:
    """Options that show an empty folder or an unreadable file in place of each path that is still there: what was
    removed meanwhile shows nothing, and cannot be covered.
    """
    options = []
    for path in filter(Path.exists, paths):
        options += _empty(str(path)) if path.is_dir() else ["--ro-bind", os.devnull, str(path)]
    return options


def mount_options(mounts: Sequence[Mount]) -> list[str]:
    """Options for a command's own mounts."""
    return [option for mount in mounts for option in _options(mount)]


def _options(mount: Mount) -> list[str]:
    match mount:
        case ReadOnly(source, target):
            return ["--ro-bind", os.fspath(source), target]
        case Writable(source, target):
            return ["--bind", os.fspath(source), target]
        case Hidden(target):
            return _empty(target)
        case Layered():
            return _layers(mount)
    assert_never(mount)


def _layers(mount: Layered) -> list[str]:
    """The options of a stack; bubblewrap takes its lowest folder first, as we do."""
    lowest = os.fspath(mount.lower[0])
    sources = [option for folder in mount.lower for option in ("--overlay-src", os.fspath(folder))]
    if mount.upper is not None:
        if mount.work is None:
            raise SandboxError(f"the layers at {mount.target} have an upper folder but no work folder")
        return [*sources, "--overlay", os.fspath(mount.upper), os.fspath(mount.work), mount.target]
    if mount.throwaway:
        return [*sources, "--tmp-overlay", mount.target]
    if len(mount.lower) == 1:  # overlayfs wants two
        return ["--ro-bind", lowest, mount.target]
    return [*sources, "--ro-overlay", mount.target]


def _empty(target: str) -> list[str]:
    return ["--tmpfs", target, "--remount-ro", target]

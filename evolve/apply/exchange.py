"""The kernel's exchange of two directory entries: both names are there at every instant, each with whole bytes."""

import ctypes
import errno
import os

from evolve.errors import ApplyError

_RENAME_EXCHANGE = 2
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


def exchange_entries(folder: int, first: str, second: str) -> None:
    """Swap two entries of an open folder (renameat2 with RENAME_EXCHANGE). OSError as the kernel says it."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError as error:
        raise OSError(errno.ENOSYS, "this system has no renameat2", first) from error
    done = renameat2(folder, os.fsencode(first), folder, os.fsencode(second), _RENAME_EXCHANGE)
    if done != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), first)


def explained(error: OSError, path: str) -> ApplyError:
    """What a failed exchange or file operation at `path` means for people."""
    if error.errno in _UNSUPPORTED:
        return ApplyError(
            f"{path}: this system or its filesystem cannot exchange two files in one instant ({error.strerror})\n"
            "  apply on Linux and a local filesystem (ext4, xfs, btrfs or tmpfs)"
        )
    said = f"{path}: {error.strerror or error}"
    if isinstance(error, PermissionError):
        said += "\n  apply as the user that owns the file and may write into its folder"
    return ApplyError(said)

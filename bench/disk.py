"""Files of people and of runs: read only if they are files, written whole or with a message that names them."""

import errno
import os
import secrets
import stat
from pathlib import Path

from bench.durable import write_durably
from bench.errors import RunError

# what a person writes by hand is never larger
MOST_BYTES = 4 << 20

# the machine is at fault, not the request
OUTAGES = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
)
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISREG, "a file"),
)


def fresh_folder(parent: Path, prefix: str) -> Path:
    """A new folder in `parent`, open to this user alone, with a name that nobody can foretell."""
    name = f"{parent}/{prefix}{secrets.token_hex(8)}"
    os.mkdir(name, mode=0o700)  # noqa: PTH102 - made several times a cell
    return Path(name)


def read_regular(path: Path, most: int = MOST_BYTES) -> bytes:
    """The bytes of a regular file, or of one that a link leads to. OSError for anything else, which nobody waits
    for, and for more than `most` bytes.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it holds more than {most:,} bytes", str(path))
    return content


def read_words(path: Path, most: int = MOST_BYTES) -> str:
    """The text of a file in UTF-8, without the mark that some editors put first. OSError or UnicodeDecodeError."""
    return read_regular(path, most).decode("utf-8-sig")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file of a run, all of it or nothing, and wait until the disk has it. RunError names it and says why it could not be written; what is there stays."""
    try:
        write_durably(path, content, 0o644)
    except OSError as error:
        raise RunError(
            f"cannot write {path}: {error.strerror}\n"
            "  every row that was measured is kept; free some space or fix the permissions, then go on with resume"
        ) from error


def kind_of(path: Path) -> str | None:
    """What is at a path, in words; None if nothing is. A link counts as what it leads to."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return "a link that leads nowhere" if path.is_symlink() else None
    return next((words for fits, words in _KINDS if fits(mode)), "a device")


def is_outage(error: BaseException | None) -> bool:
    """Whether a full disk or another fault of the machine is the error, or is behind it."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in OUTAGES:
            return True
        error = error.__cause__
    return False

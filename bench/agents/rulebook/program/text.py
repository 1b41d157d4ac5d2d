"""Paths and texts as findings, plans and messages show them."""

import os
import re
from pathlib import Path

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MAX_CAUSE_BYTES = 500
_NOT_IN_A_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def native(path: bytes) -> Path:
    """The path that has these bytes, in any locale."""
    return Path(os.fsdecode(path))


def one_line(text: str) -> str:
    """`text` with its line ends and other control characters written as escapes."""
    return _NOT_IN_A_LINE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def shown(path: bytes) -> str:
    """A path as one line of text."""
    return one_line(path.decode("utf-8", "backslashreplace"))


def bounded(text: str, limit: int) -> str:
    """`text` trimmed, without control characters, and cut to at most `limit` bytes of UTF-8."""
    raw = _UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n").strip()).encode("utf-8", "replace")
    if len(raw) <= limit:
        return raw.decode("utf-8")
    return raw[: limit - len("…".encode())].decode("utf-8", "ignore").rstrip() + "…"


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`, `3 matches`."""
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"{number} {noun if number == 1 else plural}"


def cause_of(complaint: bytes) -> str:
    """The most exact line of what ast-grep or git complained of."""
    lines = [line.strip() for line in complaint.decode("utf-8", "replace").splitlines() if line.strip()]
    causes = [line.removeprefix("╰▻").strip() for line in lines if line.startswith("╰▻")]
    return one_line(bounded((causes[-1:] or lines[:1] or [""])[0], _MAX_CAUSE_BYTES))

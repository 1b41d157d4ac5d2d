"""What is wrong with a configuration: where, and what; all of it shown at once."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from bench.errors import ConfigError
from bench.text import printable

KeyPath = tuple[str | int, ...]

_MOST_SHOWN = 20
_LONGEST_SHOWN = 80
_PLAIN_KEY = re.compile(r"[\w-]+")


class Complaint(Struct, frozen=True):
    """One thing that is wrong, and the path of keys to it."""

    path: KeyPath
    text: str

    def line(self) -> str:
        """The complaint as one line, led by its path where it has one."""
        return f"{dotted(self.path)}: {self.text}" if self.path else self.text


def dotted(path: KeyPath) -> str:
    """A path as it is typed in an override; a key that is no plain word is quoted."""
    text = "".join(_step(part) for part in path)
    return text.removeprefix(".")


def parts(key: str) -> KeyPath:
    """The path that a dotted key names; the inverse of `dotted` for plain words and numbers."""
    steps = re.findall(r"\[([^\]]*)\]|([^.\[\]]+)", key)
    return tuple(int(index) if index.isdigit() else index or word for index, word in steps)


def shown(value: Any) -> str:
    """A value as part of a message: one line, short, harmless to a terminal."""
    return brief("null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value))


def brief(text: str) -> str:
    """Text as part of a message: short, harmless to a terminal."""
    harmless = printable(text)
    return harmless if len(harmless) <= _LONGEST_SHOWN else harmless[: _LONGEST_SHOWN - 1] + "…"


def known_keys(content: Any, prefix: KeyPath = ()) -> list[str]:
    """Every dotted key of plain content."""
    if not isinstance(content, dict):
        return []
    here = [dotted((*prefix, key)) for key in content]
    return here + [name for key, value in content.items() for name in known_keys(value, (*prefix, key))]


def value_at(content: Any, path: KeyPath) -> Any:
    """The value at `path` of plain content; KeyError when there is none."""
    here = content
    for part in path:
        if isinstance(here, list) and str(part).isdigit() and int(part) < len(here):
            here = here[int(part)]
        elif isinstance(here, dict) and part in here:
            here = here[part]
        else:
            raise KeyError(dotted(path))
    return here


def refuse(complaints: Iterable[Complaint], origin: Callable[[KeyPath], str | None]) -> None:
    """ConfigError with every complaint sorted by path (at most 20), each with the file it came from."""
    ordered = sorted(set(complaints), key=lambda each: (dotted(each.path), each.text))
    if not ordered:
        return
    lines = [_located(each, origin(each.path)) for each in ordered[:_MOST_SHOWN]]
    if len(ordered) > _MOST_SHOWN:
        lines.append(f"and {len(ordered) - _MOST_SHOWN} more")
    count = "an error" if len(ordered) == 1 else f"{len(ordered)} errors"
    raise ConfigError("\n  ".join([f"the configuration has {count}:", *lines]))


def _located(complaint: Complaint, origin: str | None) -> str:
    return f"{complaint.line()} ({origin})" if origin else complaint.line()


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if _PLAIN_KEY.fullmatch(str(part)) else f"[{shown(part)}]"

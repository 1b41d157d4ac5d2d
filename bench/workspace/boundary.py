"""Which paths a phase may change: glob patterns over paths. Pure."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase


def outside_boundary(paths: Iterable[bytes], patterns: Sequence[str]) -> tuple[bytes, ...]:
    """The paths that no pattern allows, in order; no pattern allows nothing. `*`, `?` and `[…]` stay inside one
    component, a component `**` stands for any number of them; `folder/` or `folder/**` is all below a folder.
    """
    allowed = [_components(pattern + "**" if pattern.endswith("/") else pattern) for pattern in patterns]
    return tuple(
        path for path in paths if not any(_matches(_components(_text(path)), rule) for rule in allowed)
    )


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _components(path: str) -> list[str]:
    return path.split("/")


def _matches(path: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not path
    first, rest = pattern[0], pattern[1:]
    if first == "**":
        return any(_matches(path[skipped:], rest) for skipped in range(len(path) + 1)) if rest else bool(path)
    return bool(path) and fnmatchcase(path[0], first) and _matches(path[1:], rest)

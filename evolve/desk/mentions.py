"""Texts that speak of tasks which nobody who proposes may know of. Pure."""

import re
from collections.abc import Callable, Iterable


def speaks_of(names: Iterable[str]) -> Callable[[str], bool]:
    """Whether a text names one of the tasks, as a word of its own."""
    listed = sorted({re.escape(name) for name in names}, key=len, reverse=True)
    if not listed:
        return lambda _text: False
    pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(listed)})(?![\w-])")
    return lambda text: pattern.search(text) is not None

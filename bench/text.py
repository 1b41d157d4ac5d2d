"""Text for people: suggestions, and terminal control characters made harmless."""

import difflib
import re
from collections.abc import Iterable

# Control characters, marks that reorder text, and halves of surrogate pairs, which no stream can encode.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?` for the nearest known word, else nothing."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def printable(text: str) -> str:
    """`text` with terminal control characters shown as escapes, so that no id or message can drive a terminal."""
    return _CONTROL.sub(lambda match: repr(match.group())[1:-1], text)

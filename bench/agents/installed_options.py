"""The options of every agent whose program is installed: which program, and which version of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

_NULL_OR_TEXT = {"type": ["string", "null"], "minLength": 1}
PROGRAM_OPTIONS: Mapping[str, Any] = {
    "program": {
        **_NULL_OR_TEXT,
        "description": "The program's file; null is the one that `evolve agents install` put there.",
    },
    "version": {**_NULL_OR_TEXT, "description": "Which installed version; null is the pinned one."},
}


def program_of(program: str | None, root: Path) -> Path | None:
    """The program that the options name, relative to the project."""
    return None if program is None else root / program

"""The pins that come with this program, as data beside this file."""

from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct

from bench.agents.installed.model import Build, Pin
from bench.errors import AgentError
from bench.text import did_you_mean

_FOLDER = "pinned"


class _Entry(Struct, frozen=True, forbid_unknown_fields=True):
    command: str
    pinned: str
    tested: tuple[str, str]
    builds: tuple[Build, ...]


def read_pins() -> dict[str, Pin]:
    """Every agent that can be installed, by name."""
    entries = msgspec.json.decode(_read("pins.json"), type=dict[str, _Entry])
    return {
        name: Pin(
            name=name,
            command=entry.command,
            pinned=entry.pinned,
            tested=entry.tested,
            builds=entry.builds,
        )
        for name, entry in sorted(entries.items())
    }


def pin_named(name: str) -> Pin:
    """The pin of an agent. AgentError names those that there are."""
    pins = read_pins()
    if name not in pins:
        raise AgentError(
            f"no agent {name!r} can be installed{did_you_mean(name, pins)}\n  there are: {', '.join(pins)}"
        )
    return pins[name]


def read_lock(name: str) -> dict[str, Any]:
    """A lock file of npm that a pin names."""
    lock: dict[str, Any] = msgspec.json.decode(_read(name))
    return lock


def _read(name: str) -> bytes:
    return (files(__package__) / _FOLDER / name).read_bytes()

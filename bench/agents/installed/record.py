"""What an installation says of itself, and where installations lie."""

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from bench.agents.command import RUNS
from bench.agents.installed.model import Interpreter
from bench.disk import read_regular

RECORD = "installed.json"


class Record(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Written last into an installation: a folder without it is none."""

    name: str
    version: str
    way: Literal["npm", "pip"]
    shown: str
    program: str
    interpreter: Interpreter | None
    digest: str
    stamp: str


def agents_folder(root: Path, name: str) -> Path:
    """Where the project keeps the versions of an agent, each in a folder of its own."""
    return root / RUNS / "prepared" / "agents" / name


def read_record(folder: Path) -> Record | None:
    """The record of an installation, None where there is none that can be read."""
    try:
        return msgspec.json.decode(read_regular(folder / RECORD), type=Record)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return None

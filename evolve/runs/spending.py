"""What a run has spent so far, from its journal of reservations and settlements, also while it is written."""

from pathlib import Path

import msgspec
from msgspec import Struct

from bench.errors import RunError
from bench.line_file import complete_lines
from evolve.runs.model import SpendState

_PICODOLLARS = 10**12
_VERSION = 1


class _Amounts(Struct, frozen=True):
    picodollars: int = 0


class _Entry(Struct, frozen=True):
    entry: str
    id: int = 0
    amounts: _Amounts = _Amounts()
    unknown: tuple[str, ...] = ()
    schema_version: int = _VERSION


def read_spend(path: Path) -> SpendState | None:
    """None where there is no journal. RunError if it cannot be read, or is of another version."""
    if not path.exists():
        return None
    reserved: dict[int, int] = {}
    settled: dict[int, int | None] = {}
    for number, line in complete_lines(path):
        entry = _entry(path, number, line)
        if entry.entry == "reserved":
            reserved[entry.id] = entry.amounts.picodollars
        elif entry.entry == "settled":
            settled[entry.id] = None if "usd" in entry.unknown else entry.amounts.picodollars
    known = [amount for amount in settled.values() if amount is not None]
    return SpendState(
        sessions=len(settled),
        spent_usd=sum(known) / _PICODOLLARS if len(known) == len(settled) else None,
        reserved_usd=sum(amount for id_, amount in reserved.items() if id_ not in settled) / _PICODOLLARS,
    )


def _entry(path: Path, number: int, line: bytes) -> _Entry:
    try:
        entry = msgspec.json.decode(line, type=_Entry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunError(f"{path}, line {number} is no entry of a spend journal: {error}") from error
    if entry.schema_version != _VERSION:
        raise RunError(
            f"{path}: schema_version {entry.schema_version} is not supported, only {_VERSION} is; "
            "use the version of incumbent that wrote it"
        )
    return entry

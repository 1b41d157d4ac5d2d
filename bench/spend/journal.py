"""`spend.jsonl`: what was reserved and what was used, one line each, written before it counts."""

from pathlib import Path

import msgspec

from bench.digest import canonical_json
from bench.errors import RunError
from bench.line_file import LineFile, complete_lines, cut_torn_line, ends_torn
from bench.spend.model import SCHEMA_VERSION, Entry, Opened

JOURNAL = "spend.jsonl"


class Journal:
    """The journal of one run, opened to go on. There is one writer; `durable` lines are waited for."""

    def __init__(self, path: Path, prices: str, *, durable: bool) -> None:
        self.path = path
        self._lines = LineFile(path)
        self._durable = durable
        if path.exists() and ends_torn(path):
            cut_torn_line(path)  # what it would have said had not begun to count
        if not path.exists() or path.stat().st_size == 0:
            self.append(Opened(schema_version=SCHEMA_VERSION, prices=prices))

    def append(self, entry: Entry) -> None:
        """Write one entry. RunError leaves the file as it was before."""
        self._lines.append(canonical_json(entry), durable=self._durable)


def read_journal(path: Path) -> tuple[Entry, ...]:
    """The entries in their order; none where there is no file. A torn last line, left by a crash, is none.

    RunError names the line that is no entry, and a journal of another version.
    """
    if not path.is_file():
        return ()
    entries = tuple(_entry(path, number, line) for number, line in complete_lines(path))
    if entries and not isinstance(entries[0], Opened):
        raise RunError(
            f"{path}, line 1 does not say which version the journal has: the file was edited or damaged"
        )
    return entries


def _entry(path: Path, number: int, line: bytes) -> Entry:
    try:
        entry: Entry = msgspec.json.decode(line, type=Entry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunError(
            f"{path}, line {number} is no entry of a spend journal: {error}\n"
            f"  it is only ever appended to: the file was edited or damaged; restore it from a copy"
        ) from error
    if isinstance(entry, Opened) and entry.schema_version != SCHEMA_VERSION:
        raise RunError(
            f"{path}: schema_version {entry.schema_version} is not supported, only {SCHEMA_VERSION}\n"
            f"  read it with the version of incumbent that wrote it"
        )
    return entry

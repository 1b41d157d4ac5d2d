"""What a run has on the disk, and what nothing may leave behind once it ended."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.digest import canonical_json
from bench.line_file import complete_lines

Key = tuple[Any, ...]
_CELL = ("task", "arm", "repeat")


def lines(path: Path) -> list[dict[str, Any]]:
    """The complete lines of a file, or none."""
    return [json.loads(line) for _, line in complete_lines(path)] if path.exists() else []


class Remains(Struct, frozen=True):
    """The files of a run with one generation, as they are now."""

    rows: tuple[bytes, ...]
    waiting: tuple[bytes, ...]
    sessions: Counter[Key]
    reserved: Counter[Key]

    @staticmethod
    def of(run: Path | None) -> "Remains":
        folder = Path("/nonexistent") if run is None else run / "gen-1"
        journal = lines(folder / "journal.jsonl")
        rows = lines(folder / "results.jsonl")
        spend = lines(folder.parent / "spend.jsonl")
        return Remains(
            rows=tuple(canonical_json(row) for row in rows),
            waiting=tuple(
                canonical_json(row) for each in journal if each["type"] == "cell" for row in each["rows"]
            ),
            sessions=Counter(_session(each) for each in journal if each["type"] == "session"),
            reserved=Counter(_reserved(each["session"]) for each in spend if each["entry"] == "reserved"),
        )

    @property
    def measured(self) -> Counter[Key]:
        """How often each cell is measured by a row."""
        rows = [json.loads(row) for row in self.rows]
        return Counter(
            tuple(row["identity"][name] for name in _CELL)
            for row in rows
            if row["outcome"]["status"] == "measured"
        )

    def unfinished(self) -> Counter[Key]:
        """Sessions that were reserved, and did not come to their end."""
        ended = Counter[Key]()
        for (*name, _again), count in self.sessions.items():
            ended[tuple(name)] += count
        return self.reserved - ended


def _session(entry: dict[str, Any]) -> Key:
    return (*(entry[name] for name in (*_CELL, "attempt", "name")), entry["again"])


def _reserved(session: dict[str, Any]) -> Key:
    return tuple(session[name] for name in (*_CELL, "attempt", "session"))


def verdict(run: Path) -> bytes:
    """The decision as bytes: nothing in it depends on time."""
    return canonical_json(json.loads((run / "gen-1" / "promotion.json").read_bytes())["verdict"])


def left_behind(folder: Path, scratch: Path, temporary: Path) -> list[str]:
    """Processes, mounts and temporary files and folders that still have to do with the project in `folder`."""
    mark = f"{folder}/".encode()
    processes = [
        f"process {path.parent.name}: {text[:200]!r}"
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if mark in (text := _read(path))
    ]
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if f"{folder}/" in line]
    made = [str(path) for place in (scratch, temporary) for path in place.iterdir()]
    hidden = [str(path) for path in (folder / "project" / "runs").rglob(".*") if path.is_file()]
    return processes + mounts + made + hidden


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""

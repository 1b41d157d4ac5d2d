"""The part of a row that says which cell it is, what came out, and what of the store it refers to.

Quicker to read than rows, and readable while another process writes them: a torn last line is none.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.errors import RunError
from bench.line_file import complete_lines
from bench.results import SCHEMA_VERSION, Artifact, Kind, Reused, Status
from bench.text import printable

ROWS, REUSED = "results.jsonl", "reused.jsonl"


class CellId(Struct, frozen=True):
    """The cell that a row records."""

    task: str
    arm: str
    repeat: int
    attempt: int

    @property
    def key(self) -> tuple[str, str, int]:
        """What no two cells of a plan share."""
        return (self.task, self.arm, self.repeat)


class OutcomeFacts(Struct, frozen=True):
    """What came out of a cell."""

    status: Status
    kind: Kind | None
    resolved: bool
    detail: str = ""


class ScoreFacts(Struct, frozen=True):
    """How well it was done."""

    weighted_f1: float | None = None


class UsageFacts(Struct, frozen=True):
    """What it cost."""

    cost_usd: float | None = None


class TimingFacts(Struct, frozen=True):
    """How long it took."""

    total: float = 0.0


class RowFacts(Struct, frozen=True):
    """A row without its provenance. `reuse` says, if it is not null, that an earlier run measured it."""

    schema_version: int
    identity: CellId
    outcome: OutcomeFacts
    score: ScoreFacts | None
    usage: UsageFacts
    timings: TimingFacts
    artifacts: dict[str, Artifact]
    reuse: Reused | None = None


class _Version(Struct, frozen=True):
    schema_version: int


def row_files(run: Path) -> tuple[Path, ...]:
    """Every file of rows in a run's folder: those of its cells, and earlier ones that some of them were taken from."""
    folders = (run, *sorted(run.glob("gen-*")))
    return tuple(path for folder in folders for path in (folder / ROWS, folder / REUSED) if path.exists())


def read_facts(path: Path) -> Iterator[RowFacts]:
    """The rows of a file, one after the other. RunError names the line that is none, or of another version."""
    for number, line in complete_lines(path):
        yield row_facts(line, f"{path}, line {number}")


def row_facts(line: bytes, place: str) -> RowFacts:
    """One line as facts. RunError says what is wrong with it at that place."""
    try:
        version = msgspec.json.decode(line, type=_Version).schema_version
        if not 1 <= version <= SCHEMA_VERSION:
            raise RunError(
                f"{printable(place)}: schema_version {version} is not supported, only 1 to {SCHEMA_VERSION}\n"
                f"  read it with the version of incumbent that wrote it"
            )
        return msgspec.json.decode(line, type=RowFacts)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunError(
            f"{printable(place)} is not a row: {error}\n"
            f"  rows are only ever appended: the file was edited or damaged; restore it from a copy"
        ) from error

"""`worked.jsonl`: how long a run was at work, over all its processes. A line for each stretch of time, as it passes."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from bench.digest import canonical_json
from bench.errors import RunError
from bench.line_file import LineFile, complete_lines, cut_torn_line, ends_torn

WORKED = "worked.jsonl"
BEAT = 2.0  # seconds; a process that is killed loses at most these


class Worked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stretch of work of one process: its seconds, by a clock that nobody can set."""

    seconds: Annotated[float, Meta(ge=0)]


def read_worked(folder: Path) -> float:
    """The seconds that a run was at work; 0 where nobody counted. RunError for a line that is none."""
    path = folder / WORKED
    if not path.exists():
        return 0.0
    return sum(_stretch(path, number, line).seconds for number, line in complete_lines(path))


@contextmanager
def at_work(folder: Path, began: float) -> Iterator[None]:
    """Write down the time that passes from `began`, a reading of the steady clock, until this ends."""
    path, over = folder / WORKED, threading.Event()
    if path.exists() and ends_torn(path):
        cut_torn_line(path)
    file, counted = LineFile(path), began

    def count() -> None:
        nonlocal counted
        now = time.monotonic()
        with suppress(RunError):  # a full disk, say: these seconds are in the next line
            file.append(canonical_json(Worked(seconds=round(now - counted, 3))), durable=False)
            counted = now

    def beat() -> None:
        while not over.wait(BEAT):
            count()

    count()
    thread = threading.Thread(target=beat, name="worked")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        count()
        file.close()


def _stretch(path: Path, number: int, line: bytes) -> Worked:
    try:
        return msgspec.json.decode(line, type=Worked)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(
            f"{path}, line {number} does not say how long the run was at work: {error}\n"
            "  it is only ever appended to: restore it from a copy"
        ) from error

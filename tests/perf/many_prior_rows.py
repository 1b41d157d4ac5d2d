"""What it costs to select 100,000 earlier rows, every artifact looked up and hashed, beside reading the rows. Run as a
program, it measures a folder in a process of its own.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from many_rows import rows_of_a_large_sweep
from measuring import Line
from msgspec import Struct, convert, structs, to_builtins

from bench.digest import canonical_json, digest_bytes
from bench.results import Artifact, ObjectStore, Row, read_every_row, reuse_key
from bench.reuse import Limits, Wanted, select, with_canaries

MOST_TIMES_READING = 3.0
ROUNDS = 3
_NOW = datetime(2026, 2, 1, tzinfo=UTC)


class Taken(Struct):
    """Seconds of CPU, and how many cells an earlier row stands for."""

    reading: float
    selecting: float
    hashing: float
    reused: int


def of_earlier_rows() -> Iterator[Line]:
    """Read, and select for the same cells again, with canaries."""
    with tempfile.TemporaryDirectory(prefix="perf-") as folder:
        count = _write(Path(folder))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, __file__, folder], capture_output=True, check=True, env=environment
        )
    taken = convert(json.loads(done.stdout), Taken)
    assert taken.reused == count, f"{taken.reused} of {count} rows were selected"
    yield Line(
        what=f"{count:,} earlier rows: select, hash artifacts",
        measured=f"{taken.selecting:.2f} s",
        baseline=f"{taken.reading:.2f} s reading them",
        value=taken.selecting / taken.reading,
        bar=MOST_TIMES_READING,
    )
    yield Line(
        what="  of which the artifacts",
        measured=f"{taken.hashing:.2f} s",
        baseline=f"{2 * count:,} objects",
        value=None,
        bar=None,
    )


def _write(folder: Path) -> int:
    """The rows, each with two artifacts of its own in a store; not synced one by one, which only the writing needs."""
    count = 0
    with (folder / "results.jsonl").open("wb") as file:
        for count, row in enumerate(rows_of_a_large_sweep(), 1):
            kept = {name: _object(folder, f"{name} of row {count}\n".encode() * 40) for name in row.artifacts}
            file.write(canonical_json(structs.replace(row, artifacts=kept)) + b"\n")
    return count


def _object(folder: Path, content: bytes) -> Artifact:
    digest = digest_bytes(content)
    path = folder / "objects" / digest[:2] / digest[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return Artifact(digest, len(content))


def _measure(folder: Path) -> Taken:
    path, store = folder / "results.jsonl", ObjectStore(folder / "objects")
    rows, _ = read_every_row(path)
    wanted = [Wanted(*row.key, reuse_key(row)) for row in rows]
    reused = _select(rows, wanted, store)
    return Taken(
        reading=_seconds(lambda: read_every_row(path)),
        selecting=_seconds(lambda: _select(rows, wanted, store)),
        hashing=_seconds(lambda: [store.damage(each) for row in rows for each in row.artifacts.values()]),
        reused=reused,
    )


def _select(rows: tuple[Row, ...], wanted: list[Wanted], store: ObjectStore) -> int:
    limits = Limits(now=_NOW, max_age_days=90)
    selection = select(wanted, rows, rows[0].identity.plan, limits, store.damage)
    return sum(source.kind != "fresh" for source in with_canaries(wanted, selection, 0.2, "0").sources)


def _seconds(action: Callable[[], object]) -> float:
    """The median over some rounds."""
    taken = []
    for _ in range(ROUNDS):
        began = time.process_time()
        action()
        taken.append(time.process_time() - began)
    return statistics.median(taken)


if __name__ == "__main__":
    print(json.dumps(to_builtins(_measure(Path(sys.argv[1])))))

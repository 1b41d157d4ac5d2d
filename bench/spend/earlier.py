"""Finds the earlier rows that a forecast can be made from."""

from collections.abc import Iterator
from pathlib import Path

from bench.errors import RunError
from bench.project import RunFolder, list_runs
from bench.results import Row, read_rows

MOST_RUNS = 5


def earlier_rows(
    root: Path, *, agent: str, model: str | None, effort: str | None, most: int = MOST_RUNS
) -> tuple[Row, ...]:
    """The rows that this agent, with this model and effort, left in the newest runs of the project that have any.

    A run that cannot be read is passed over: a forecast decides nothing.
    """
    found: list[Row] = []
    used = 0
    for run in reversed(list_runs(root)):
        rows = [
            row
            for row in _rows_of(run)
            if (row.identity.agent, row.identity.model, row.identity.effort) == (agent, model, effort)
        ]
        found += rows
        used += bool(rows)
        if used == most:
            break
    return tuple(found)


def _rows_of(run: RunFolder) -> Iterator[Row]:
    for path in (run.path / "results.jsonl", *sorted(run.path.glob("gen-*/results.jsonl"))):
        try:
            yield from read_rows(path)[0] if path.is_file() else ()
        except RunError:
            continue

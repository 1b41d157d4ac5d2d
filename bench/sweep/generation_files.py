"""What a generation's folder holds beside its rows: the sealed plan, the earlier rows it reuses, what it found of drift."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from bench.digest import canonical_json, digest_json
from bench.disk import write_whole
from bench.errors import RunError
from bench.results import Row, latest_attempts, read_every_row
from bench.reuse import DRIFT, DRIFT_VERSION, DriftFile, judge_drift
from bench.reuse import read_drift as read_drift_state
from bench.sweep.model import Plan, Sealed
from bench.sweep.sweep import SweepResult
from bench.watch import DriftFound, Watcher

REUSED = "reused.jsonl"


def write_sealed(folder: Path, sealed: Sealed) -> None:
    """All that the sweep starts from, on the disk before the first row names the plan. The plan comes last: where it
    is, the rows that it names are as well.
    """
    if sealed.rows:
        write_whole(folder / REUSED, b"".join(canonical_json(row) + b"\n" for row in sealed.rows.values()))
    if sealed.drift is not None:
        _leave_drift(folder, DriftFile(schema_version=DRIFT_VERSION, before=sealed.drift))
    write_whole(folder / "plan.json", canonical_json(sealed.plan) + b"\n")


def read_reused(folder: Path) -> dict[str, Row]:
    """The earlier rows that the plan in this folder names, by digest. RunError if they are not what was written."""
    path = folder / REUSED
    rows, torn = read_every_row(path) if path.exists() else ((), False)
    if torn:
        raise RunError(f"{path} ends in a torn line\n  restore it from a copy, or start a new run")
    return {digest_json(row): row for row in rows}


def read_sealed(folder: Path, plan: Plan) -> Sealed:
    """All that the sweep of this folder started from. RunError if a row that the plan names is gone."""
    rows = read_reused(folder)
    missing = [source.row for source in plan.sources if source.row is not None and source.row not in rows]
    if missing:
        raise RunError(
            f"{folder / REUSED} does not hold all rows that plan.json names, {missing[0]} for one\n"
            "  restore it from a copy, or start a new run"
        )
    drift = _drift_file(folder)
    return Sealed(plan=plan, rows=rows, drift=None if drift is None else drift.before)


def read_drift(folder: Path) -> str | None:
    """What the canaries of a sweep showed, if that is drift."""
    file = _drift_file(folder)
    return None if file is None else file.found


def _drift_file(folder: Path) -> DriftFile | None:
    return read_drift_state(folder / DRIFT) if (folder / DRIFT).exists() else None


def judge_canaries(
    folder: Path, sealed: Sealed, result: SweepResult, watcher: Watcher, *, deterministic: bool
) -> SweepResult:
    """Compare the canaries with what they were before, leave drift.json, and say what was found."""
    if sealed.drift is None:
        return result
    file = judge_drift(
        sealed.drift,
        _compared(sealed.plan, sealed.rows, result),
        now=datetime.now(UTC),
        deterministic=deterministic,
        complete=result.stopped is None,
    )
    _leave_drift(folder, file)
    if file.found is not None:
        watcher.see(DriftFound(generation=sealed.plan.generation, found=file.found))
    return structs.replace(result, drift=file.found)


def _compared(plan: Plan, rows: Mapping[str, Row], result: SweepResult) -> list[tuple[Row, Row]]:
    """The earlier row and the fresh one of each canary that could be measured, in the order of the plan."""
    fresh = {row.key: row for row in latest_attempts(result.rows) if row.outcome.status == "measured"}
    return [
        (rows[str(source.row)], fresh[cell.key])
        for cell in plan.cells
        if (source := plan.source(cell)).kind == "canary" and cell.key in fresh
    ]


def _leave_drift(folder: Path, file: DriftFile) -> None:
    write_whole(folder / DRIFT, canonical_json(file) + b"\n")

"""What `evolve reuse explain` says: where the row of each cell came from, or why it had to be measured."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from bench.arms import Cell
from bench.cli_run import print_json
from bench.exits import ExitCode
from bench.reuse import DRIFT, MISSES, Kind, Miss, Source, read_drift
from bench.sweep import Measured, find_cell, open_measured
from bench.text import printable

_SHORT = 12
_DIGEST_LENGTH = 64


class CellExplanation(Struct, frozen=True, kw_only=True):
    """One cell, TASK/ARM/REPEAT: its row is `fresh`, `reused`, or of a `canary`; `row` is the digest of the earlier row.

    A fresh cell has a `reason`; where a field decided, its name, its value in the earlier row and its value now.
    """

    cell: str
    kind: Kind
    row: str | None
    reason: Miss | None
    field: str | None
    before: str | int | None
    now: str | int | None
    detail: str | None


class ReuseExplanation(Struct, frozen=True, kw_only=True):
    """What `evolve reuse explain --json` prints (schemas/reuse-explanation.schema.json). `reuse_from` is the generation
    that rows were taken from; null where every cell was measured. `drift` is what the canaries showed.
    """

    run: str
    generation: int
    reuse_from: str | None
    counts: dict[str, int]
    drift: str | None
    cells: tuple[CellExplanation, ...]


def explain(options: argparse.Namespace, root: Path, say: Callable[[str], None]) -> ExitCode:
    """Print the explanation of a generation's cells, or of the one that was named."""
    measured = open_measured(root, options.run)
    cells = measured.plan.cells if options.cell is None else (find_cell(measured, options.cell),)
    explanation = make_explanation(measured, cells)
    if options.json:
        print_json(explanation)
        return ExitCode.VERDICT
    print("\n".join(map(printable, explanation_lines(explanation))))
    if options.cell is None and len(cells) > 1:
        say("a single cell, with its values in full: --cell TASK/ARM/REPEAT")
    return ExitCode.VERDICT


def make_explanation(measured: Measured, cells: Sequence[Cell]) -> ReuseExplanation:
    """What the sealed plan says of these cells, and what the sweep's canaries showed."""
    drift = measured.folder / DRIFT
    return ReuseExplanation(
        run=measured.run.id,
        generation=measured.plan.generation,
        reuse_from=measured.plan.reuse_from,
        counts=dict(sorted(measured.plan.counts().items())),
        drift=read_drift(drift).found if drift.exists() else None,
        cells=tuple(_explained(cell, measured.plan.source(cell)) for cell in cells),
    )


def explanation_lines(explanation: ReuseExplanation) -> Iterator[str]:
    """The explanation for people."""
    counts = ", ".join(f"{count} {kind}" for kind, count in explanation.counts.items())
    yield f"{explanation.run}: {counts}; earlier rows from: {explanation.reuse_from or 'none'}"
    if explanation.drift is not None:
        yield f"drift: {explanation.drift}; rows from before are not reused any more"
    alone = len(explanation.cells) == 1
    for cell in explanation.cells:
        yield f"{cell.cell}: {_said(cell, explanation.reuse_from, in_full=alone)}"


def _explained(cell: Cell, source: Source) -> CellExplanation:
    return CellExplanation(
        cell=cell.name,
        kind=source.kind,
        row=source.row,
        reason=source.reason,
        field=source.field,
        before=source.before,
        now=source.now,
        detail=source.detail,
    )


def _said(cell: CellExplanation, origin: str | None, *, in_full: bool) -> str:
    if cell.reason is None:
        row = _value(cell.row, in_full=in_full)
        how = "reused:" if cell.kind == "reused" else "measured again to notice drift, compared with"
        return f"{how} row {row} of {origin}"
    said = f"measured: {MISSES[cell.reason]} ({cell.reason})"
    if cell.field is not None:
        before, now = (_value(value, in_full=in_full) for value in (cell.before, cell.now))
        said += f": {cell.field} was {before}, is {now}"
    return f"{said}: {cell.detail}" if cell.detail else said


def _value(value: str | int | None, *, in_full: bool) -> str:
    """A value for people; of a digest, its beginning is enough in a list."""
    if value is None:
        return "none"
    text = str(value)
    if not text:
        return "unknown"
    return text if in_full or len(text) != _DIGEST_LENGTH else f"{text[:_SHORT]}…"

"""Which earlier row stands for which planned cell, and why none for the others. Pure."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta

from msgspec import structs

from bench.digest import digest_json
from bench.results import Artifact, Damage, Row, class_of, reuse_fields, reuse_key
from bench.reuse.model import Limits, Miss, Selection, Source, Wanted

CellKey = tuple[str, str, int]
Damaged = Callable[[Artifact], Damage | None]

UNKNOWN = ""  # in a key: what was not known when the row was written, or is not now
TOLERANCE = timedelta(minutes=5)  # of clocks, before a time counts as one of the future
_FIELDS = reuse_fields()


def select(
    wanted: Sequence[Wanted], prior: Iterable[Row], plan: str, limits: Limits, damaged: Damaged
) -> Selection:
    """The source of each wanted cell, every one that can be being reused. `plan` is the digest of the plan that lies
    beside the prior rows; `damaged` looks an artifact up.
    """
    found = _by_cell(prior)
    rows: dict[str, Row] = {}
    sources = tuple(
        _source(cell, found.get((cell.task, cell.arm, cell.repeat), ()), plan, limits, damaged, rows)
        for cell in wanted
    )
    return Selection(sources, rows)


def with_canaries(
    wanted: Sequence[Wanted],
    selection: Selection,
    share: float,
    seed: str,
    last: Callable[[Wanted], int] = lambda _: 0,
) -> Selection:
    """The same with a seeded share of each arm's reusable cells, at least one, measured again; none for a share of 0.

    Chance chooses among the cells that were measured again the longest ago (`last` grows with time), so that all
    of them get their turn: drift is then looked for everywhere after 1/share generations.
    """
    if share <= 0:
        return selection
    reusable: dict[str, list[int]] = {}
    for index, (cell, source) in enumerate(zip(wanted, selection.sources, strict=True)):
        if source.kind == "reused":
            reusable.setdefault(cell.arm, []).append(index)
    chosen: set[int] = set()
    for arm, indices in reusable.items():
        random.Random(f"{seed}/{arm}").shuffle(indices)  # noqa: S311 - a seeded choice, no secret
        indices.sort(key=lambda index: last(wanted[index]))
        chosen.update(indices[: max(1, round(share * len(indices)))])
    sources = (
        structs.replace(source, kind="canary") if index in chosen else source
        for index, source in enumerate(selection.sources)
    )
    return Selection(tuple(sources), selection.rows)


def all_fresh(wanted: Sequence[object], reason: Miss, detail: str | None = None) -> Selection:
    """Every cell is measured, for the same reason."""
    return Selection((Source(kind="fresh", reason=reason, detail=detail),) * len(wanted), {})


def _by_cell(rows: Iterable[Row]) -> Mapping[CellKey, Sequence[Row]]:
    """The rows of each cell; what is there twice in the same words is there once."""
    found: dict[CellKey, list[Row]] = {}
    for row in rows:
        known = found.setdefault(row.key, [])
        if row not in known:
            known.append(row)
    return found


def _source(
    cell: Wanted,
    found: Sequence[Row],
    plan: str,
    limits: Limits,
    damaged: Damaged,
    rows: dict[str, Row],
) -> Source:
    """The source of one cell; the row that it names is added to `rows`."""
    every = [row for row in found if row.outcome.status == "measured"]
    # one that was measured beside a candidate is newer than the earlier row that stood there before
    measured = [row for row in every if row.reuse is None] or every
    if len(measured) != 1:
        return _without_row(found, measured)
    row = measured[0]
    miss = _differing(cell, row) or _refused(row, plan, limits) or _damage(row, damaged)
    if miss is not None:
        return miss
    digest = digest_json(row)
    rows[digest] = row
    return Source(kind="reused", row=digest)


def _without_row(found: Sequence[Row], measured: Sequence[Row]) -> Source:
    if measured:
        return Source(kind="fresh", reason="conflicting")
    if not found:
        return Source(kind="fresh", reason="no-row")
    last = found[-1].outcome
    return Source(kind="fresh", reason="not-measured", detail=f"{last.status}, {last.kind}")


def _differing(cell: Wanted, row: Row) -> Source | None:
    """The first field that keeps the row from standing for the cell. What is unknown equals nothing."""
    if cell.key is None:
        return Source(kind="fresh", reason="no-template")
    before = reuse_key(row)
    if before == cell.key and UNKNOWN not in before:
        return None
    field, old, new = next(
        (field, old, new)
        for field, old, new in zip(_FIELDS, before, cell.key, strict=True)
        if old != new or UNKNOWN in (old, new)
    )
    reason: Miss = "unknown" if UNKNOWN in (old, new) else "differs"
    return Source(kind="fresh", reason=reason, field=field, before=old, now=new)


def _refused(row: Row, plan: str, limits: Limits) -> Source | None:
    """Why the row stands for nothing any more, although it is of the same cell."""
    if row.identity.plan != plan:
        return Source(
            kind="fresh", reason="foreign-plan", field="identity.plan", before=row.identity.plan, now=plan
        )
    age = limits.now - row.measured_at
    at = f"measured {row.measured_at.isoformat()}"
    if age < -TOLERANCE or row.measured_at > row.finished_at + TOLERANCE:
        return Source(kind="fresh", reason="from-the-future", detail=at)
    if age > timedelta(days=limits.max_age_days):
        return Source(kind="fresh", reason="too-old", detail=at)
    retired = limits.retired.get(class_of(reuse_key(row))) if limits.retired else None
    if retired is not None and row.measured_at <= retired:
        return Source(kind="fresh", reason="retired", detail=f"{at}, drift found {retired.isoformat()}")
    return None


def _damage(row: Row, damaged: Damaged) -> Source | None:
    for name, artifact in row.artifacts.items():
        damage = damaged(artifact)
        if damage is not None:
            reason: Miss = "artifact-missing" if damage.problem == "missing" else "artifact-changed"
            return Source(kind="fresh", reason=reason, detail=f"{name} ({artifact.digest})")
    return None

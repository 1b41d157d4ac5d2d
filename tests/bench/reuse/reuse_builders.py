"""Earlier rows and the cells that they may stand for; everything is the same unless a test says otherwise."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from msgspec import structs

from bench.results import Artifact, Damage, Row, reuse_key
from bench.reuse import Limits, Selection, Source, Wanted, select

PLAN = "p" * 64  # as make_row says
NOW = datetime(2026, 2, 1, tzinfo=UTC)
LIMITS = Limits(now=NOW, max_age_days=90)


def wanted(row: Row) -> Wanted:
    """The cell that asks for exactly this row."""
    return Wanted(*row.key, reuse_key(row))


def sound(_: Artifact) -> Damage | None:
    return None


def one(cell: Wanted, *rows: Row, limits: Limits = LIMITS, plan: str = PLAN) -> Source:
    """The source of one cell."""
    return select([cell], rows, plan, limits, sound).sources[0]


def chosen(rows: Iterable[Row], limits: Limits = LIMITS) -> tuple[list[Wanted], Selection]:
    """Cells that ask for these rows, and what is selected for them."""
    known = list(rows)
    cells = [wanted(row) for row in known]
    return cells, select(cells, known, PLAN, limits, sound)


def finished(row: Row, days_ago: float) -> Row:
    """The row, measured that many days before NOW."""
    at = NOW - timedelta(days=days_ago)
    return structs.replace(row, started_at=at, finished_at=at)

"""Two measurements of the same cells, beside each other: what no clock and no place decides must be equal. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import structs

from bench.digest import canonical_json
from bench.results import Row, latest_attempts
from evolve.lock.model import Drift

# Not compared: times, who measured by which plan and where answers came from; of artifacts, what holds such things.
VOLATILE = ("transcript-", "requests-", "verify")
COMPARED = ("outcome", "score", "usage", "sessions", "reported", "change")


def row_drifts(then: Iterable[Row], now: Iterable[Row]) -> Iterator[Drift]:
    """Each field of a cell's last attempt that came out otherwise, as task/arm/repeat: field."""
    before, after = ({row.key: row for row in latest_attempts(rows)} for rows in (then, now))
    for key in sorted({*before, *after}):
        name = "/".join(map(str, key))
        old, new = (_lasting(rows[key]) if key in rows else {} for rows in (before, after))
        for field in old if old and new else {"row": None}:
            first, second = old.get(field), new.get(field)
            if not (old and new):
                first, second = ("there" if each else None for each in (old, new))
            if first != second:
                yield Drift(kind="row", name=f"{name}: {field}", then=_said(first), now=_said(second))


def _lasting(row: Row) -> dict[str, Any]:
    """What of a row does not come from the clock or from where the answers came from."""
    plain = structs.replace(row, outcome=structs.replace(row.outcome, diagnostics=()))
    kept = {
        name: artifact.digest for name, artifact in row.artifacts.items() if not name.startswith(VOLATILE)
    }
    return {name: getattr(plain, name) for name in COMPARED} | {"artifacts": kept}


def _said(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else canonical_json(value).decode()

"""An earlier row as the row of a cell of this sweep. Pure."""

from msgspec import structs

from bench.digest import digest_json
from bench.results import SCHEMA_VERSION, Identity, Reused, Row


def adopt(row: Row, identity: Identity) -> Row:
    """What was measured then, under the name that the cell has now. The time of the first measurement stays."""
    return structs.replace(
        row,
        schema_version=SCHEMA_VERSION,
        identity=identity,
        reuse=Reused(digest_json(row), row.measured_at),
    )

"""The JSON Schema of a row, from the struct that defines it."""

from typing import Any

from bench.generated_schema import generated_schema
from bench.results.row import Row


def row_schema() -> dict[str, Any]:
    """What `schemas/row.schema.json` holds."""
    return generated_schema(Row, "row")

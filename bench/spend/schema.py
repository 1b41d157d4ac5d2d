"""The JSON Schema of a line of `spend.jsonl`, from the structs that define it."""

from typing import Any

from bench.generated_schema import generated_schema
from bench.spend.model import Entry


def spend_schema() -> dict[str, Any]:
    """What `schemas/spend.schema.json` holds."""
    return generated_schema(Entry, "spend")

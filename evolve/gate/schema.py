"""The JSON Schema of a promotion, from the structs that define it."""

from typing import Any

from bench.generated_schema import generated_schema
from evolve.gate.verdict import Promotion


def promotion_schema() -> dict[str, Any]:
    """What `schemas/promotion.schema.json` holds."""
    return generated_schema(Promotion, "promotion")

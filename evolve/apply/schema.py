"""The JSON Schemas of what an apply writes and prints, from the structs that define it."""

from typing import Any

from bench.generated_schema import generated_schema
from evolve.apply.model import ApplyRecord, ApplySummary, Recovery


def apply_schemas() -> dict[str, dict[str, Any]]:
    """What `schemas/<name>.schema.json` holds, by name."""
    kinds: dict[str, type] = {
        "apply-record": ApplyRecord,
        "apply-recovery": Recovery,
        "apply-summary": ApplySummary,
    }
    return {name: generated_schema(kind, name) for name, kind in kinds.items()}

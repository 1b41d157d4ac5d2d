"""The JSON Schema of a review artifact, from the structs that read it."""

from typing import Any

from bench.generated_schema import generated_schema
from bench.scoring.model import Review


def review_schema() -> dict[str, Any]:
    """What `schemas/review.schema.json` holds: the structs, and how verdict and findings belong together."""
    schema = generated_schema(Review, "review")
    review = schema["$defs"]["Review"]
    review["allOf"] = [
        _if_verdict("approve", {"maxItems": 0}),
        _if_verdict("request_changes", {"contains": {"properties": {"blocking": {"const": True}}}}),
    ]
    return schema


def _if_verdict(verdict: str, findings: dict[str, Any]) -> dict[str, Any]:
    return {
        "if": {"properties": {"verdict": {"const": verdict}}},
        "then": {"properties": {"findings": findings}},
    }

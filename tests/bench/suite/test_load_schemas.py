"""The schemas of suites, labels and learnings: valid, described, closed."""

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bench.config import load_schema

NAMES = ["suite", "labels", "learning"]


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every subschema that describes a value of its own."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for inner in schema.values():
            yield from objects(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from objects(inner)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_closed_and_described(name: str) -> None:
    schema = load_schema(name)
    Draft202012Validator.check_schema(schema)
    for each in objects(schema):
        assert each["additionalProperties"] is False
        assert each["description"]
        assert all("description" in inner for inner in each["properties"].values())


LEARNING = {"id": "one", "skill": "code-review", "date": "2026-06-02", "observation": "Seen."}


def test_a_learning_may_bring_a_rule_a_sentence_both_or_none() -> None:
    validator = Draft202012Validator(load_schema("learning"))
    for more in (
        {},
        {"rule": "id: x"},
        {"sentence": "Look."},
        {"rule": "id: x", "sentence": "Look.", "task": "t"},
    ):
        assert validator.is_valid({**LEARNING, **more})


@pytest.mark.parametrize(
    "wrong", [{"id": "A b"}, {"date": "02.06.2026"}, {"observation": " "}, {"severity": "high"}]
)
def test_a_learning_that_is_not_one_is_refused(wrong: dict[str, str]) -> None:
    assert not Draft202012Validator(load_schema("learning")).is_valid({**LEARNING, **wrong})

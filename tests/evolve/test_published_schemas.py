from pathlib import Path
from typing import Any

import jsonschema
import pytest

from bench.generated_schema import schema_bytes
from evolve.schemas import generated_schemas

SCHEMAS = Path(__file__).parents[2] / "schemas"


@pytest.mark.parametrize(("name", "schema"), generated_schemas().items())
def test_a_published_schema_is_what_the_code_says(name: str, schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    stored = (SCHEMAS / f"{name}.schema.json").read_bytes()
    assert stored == schema_bytes(schema), "run: python -m evolve.schemas schemas"


def test_every_file_of_schemas_is_generated_or_written_by_hand_on_purpose() -> None:
    by_hand = {"config", "config-file", "evolve", "labels", "learning", "prices", "suite"}
    assert {path.name.removesuffix(".schema.json") for path in SCHEMAS.iterdir()} == by_hand | set(
        generated_schemas()
    )

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from row_builders import make_row

from bench.digest import canonical_json
from bench.generated_schema import schema_bytes, write_schemas
from bench.results import Kind, row_schema
from bench.scoring import review_schema

SCHEMAS = Path(__file__).parents[3] / "schemas"


@pytest.mark.parametrize(("name", "schema"), [("row", row_schema()), ("review", review_schema())])
def test_the_published_schema_is_the_one_of_the_structs(name: str, schema: dict[str, Any]) -> None:
    stored = (SCHEMAS / f"{name}.schema.json").read_bytes()
    assert stored == schema_bytes(schema), "run: python -m evolve.schemas schemas"


@pytest.mark.parametrize("schema", [row_schema(), review_schema()])
def test_a_generated_schema_is_one(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("kind", [None, "oracle-failed", "session-error", "cancelled"])
def test_a_row_fits_its_schema(kind: Kind | None) -> None:
    jsonschema.validate(json.loads(canonical_json(make_row(kind=kind))), row_schema())


def test_a_row_with_a_wrong_kind_does_not_fit() -> None:
    row = json.loads(canonical_json(make_row()))
    row["outcome"]["kind"] = "unlucky"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(row, row_schema())


def test_schemas_are_written_as_they_are_compared(tmp_path: Path) -> None:
    write_schemas(tmp_path, {"row": row_schema()})
    assert (tmp_path / "row.schema.json").read_bytes() == schema_bytes(row_schema())

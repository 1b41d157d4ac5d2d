"""JSON Schemas that are generated from structs, so that a file format is written down once."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec


def generated_schema(kind: Any, name: str) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a struct or a union of structs, for the file `<name>.schema.json`."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"{name}.schema.json"}
    return head | msgspec.json.schema(kind)


def schema_bytes(schema: Mapping[str, Any]) -> bytes:
    """A schema as it stands in a file of `schemas/`."""
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False).encode("utf-8") + b"\n"


def write_schemas(folder: Path, schemas: Mapping[str, Mapping[str, Any]]) -> None:
    """Write each schema to `<name>.schema.json` in `folder`."""
    for name, schema in schemas.items():
        (folder / f"{name}.schema.json").write_bytes(schema_bytes(schema))

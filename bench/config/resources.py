"""Where the built-in configuration and the schemas are: inside the wheel, or at the top of a source tree."""

import json
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parent.parent


def conf_folder() -> Path:
    """The built-in configuration: bench/_conf in a wheel, conf/ in a source tree."""
    return _resource_folder("conf")


def schemas_folder() -> Path:
    """The JSON Schemas: bench/_schemas in a wheel, schemas/ in a source tree."""
    return _resource_folder("schemas")


def load_schema(name: str) -> dict[str, Any]:
    """The schema `<name>.schema.json` as plain data."""
    text = (schemas_folder() / f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _resource_folder(name: str) -> Path:
    packaged = _PACKAGE / f"_{name}"
    return packaged if packaged.is_dir() else _PACKAGE.parent / name

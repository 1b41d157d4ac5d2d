"""The schemas themselves: valid, described, closed, and of one mind with the structs."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from bench.config import Config, load_schema, schemas_folder

NAMES = ["config", "config-file", "evolve", "prices"]
# What belongs to someone else's schema, or is a map of names.
OPEN = {"options", "prepare", "config"}


def _properties(schema: Any, name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every named property of a schema, and every schema of a map's or list's entries."""
    if isinstance(schema, dict):
        for key, value in schema.get("properties", {}).items():
            yield key, value
        for keyword in ("items", "additionalProperties"):
            if isinstance(schema.get(keyword), dict):
                yield keyword, schema[keyword]
        for value in schema.values():
            yield from _properties(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _properties(value)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_and_has_an_identity(name: str) -> None:
    schema = load_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:incumbent:schema:{name}:1"
    assert json.loads((schemas_folder() / f"{name}.schema.json").read_text()) == schema


@pytest.mark.parametrize("name", NAMES)
def test_every_property_is_described(name: str) -> None:
    whole = load_schema(name)
    conditional = {"kind"}  # the two words of an if-clause
    for key, schema in _properties(whole):
        reference = schema.get("$ref", "").rpartition("/")[2]
        described = schema.get("description") or whole.get("$defs", {}).get(reference, {}).get("description")
        assert described or (key in conditional and set(schema) == {"const"}), key


@pytest.mark.parametrize("name", NAMES)
def test_every_mapping_is_closed(name: str) -> None:
    whole = load_schema(name)
    for key, schema in [("", whole), *_properties(whole), *whole.get("$defs", {}).items()]:
        mapping = "object" in schema.get("type", ()) or isinstance(schema.get("properties"), dict)
        if mapping and key not in OPEN:
            assert {"additionalProperties", "allOf", "$ref"} & set(schema), key


STRUCTS = {
    ("$defs", "arm"): "ArmSpec",
    ("$defs", "session"): "SessionSpec",
    ("$defs", "limits"): "LimitsConfig",
    ("$defs", "folderTool"): "FolderTool",
    ("$defs", "derivedTool"): "DerivedTool",
    ("$defs", "serverTool"): "ServerTool",
    ("properties", "skills", "additionalProperties"): "SkillSpec",
    ("properties", "tasks"): "TaskFilter",
    ("properties", "suite"): "SuiteConfig",
    ("$defs", "agentChoice"): "AgentConfig",
    ("$defs", "modelChoice"): "ModelConfig",
    ("properties", "sandbox"): "SandboxConfig",
    ("properties", "reuse"): "ReuseConfig",
    ("properties", "executor"): "ExecutorConfig",
    ("properties", "budget"): "BudgetConfig",
    ("properties", "budget", "properties", "cell"): "CellBudget",
    ("properties", "budget", "properties", "campaign"): "CampaignBudget",
    ("properties", "proposer"): "ProposerConfig",
    ("properties", "promotion"): "PromotionConfig",
    (): "Config",
}
# of a proposer that pays sessions only; what configurations of before did not have
OPTIONAL = {"ProposerConfig": {"agent", "model", "effort"}, "PromotionConfig": {"certified"}}


@pytest.mark.parametrize(("path", "name"), STRUCTS.items(), ids=STRUCTS.values())
def test_schema_and_struct_name_the_same_keys_and_the_schema_wants_them_all(
    path: tuple[str, ...], name: str
) -> None:
    _, definitions = msgspec.json.schema_components([Config])
    ours: Any = load_schema("config")
    for step in path:
        ours = ours[step]
    assert sorted(ours["properties"]) == sorted(definitions[name]["properties"])
    assert set(ours["required"]) == set(ours["properties"]) - OPTIONAL.get(name, set())


def test_no_struct_of_the_configuration_is_left_out() -> None:
    _, definitions = msgspec.json.schema_components([Config])
    assert sorted(definitions) == sorted(STRUCTS.values())

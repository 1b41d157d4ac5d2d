"""From composed values to the frozen configuration, or to everything that is wrong with them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from bench.config.complaint import Complaint, KeyPath, refuse
from bench.config.composed import CommandName
from bench.config.cross_checks import arm_complaints, budget_complaints, model_complaints
from bench.config.model import Config
from bench.config.resources import load_schema
from bench.config.schema_errors import schema_complaints
from bench.errors import ExtensionError
from bench.extensions import load_extension

# Section of the configuration, the key of the extension's name in it, and the extensions' group.
EXTENSIONS = (
    ("agent", "name", "agents"),
    ("sandbox", "name", "sandboxes"),
    ("proposer", "name", "proposers"),
    ("promotion", "policy", "policies"),
)


def validate(
    values: Mapping[str, Any], *, command: CommandName, origin: Callable[[KeyPath], str | None]
) -> Config:
    """The frozen configuration. ConfigError lists everything that is wrong, each with `origin` of its path."""
    complaints = schema_complaints(load_schema("config"), values)
    broken = {complaint.path[0] for complaint in complaints if complaint.path}
    if not broken & {"arms", "skills"}:
        complaints += arm_complaints(values["arms"], values["skills"])
    if "model" not in broken:
        complaints += model_complaints(values["model"])
    if not broken & {"budget", "campaign"}:
        complaints += budget_complaints(values["budget"], values["campaign"])
    complaints += _extension_complaints(values, broken)
    if command == "evolve":
        complaints += [
            Complaint((section,), "must be given; only bench works without it")
            for section in ("proposer", "promotion")
            if section not in broken and values[section] is None
        ]
    refuse(complaints, origin)
    return freeze(values)


def freeze(values: Mapping[str, Any]) -> Config:
    """Valid values as frozen structs."""
    return msgspec.convert(values, Config)


def _extension_complaints(values: Mapping[str, Any], broken: set[str | int]) -> Iterator[Complaint]:
    """Complaints on the extensions' names, and on their options by their own schemas."""
    for section, key, group in EXTENSIONS:
        chosen = values.get(section)
        if section in broken or chosen is None:
            continue
        try:
            extension = load_extension(group, chosen[key])
        except ExtensionError as error:
            yield Complaint((section, key), " ".join(str(error).split()))
        else:
            yield from schema_complaints(extension.options_schema, chosen["options"], (section, "options"))

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

# Where a section of the configuration is, the key of the extension's name in it, and the extensions' group.
EXTENSIONS: tuple[tuple[KeyPath, str, str], ...] = (
    (("agent",), "name", "agents"),
    (("sandbox",), "name", "sandboxes"),
    (("proposer",), "name", "proposers"),
    (("proposer", "agent"), "name", "agents"),
    (("promotion",), "policy", "policies"),
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
    if "proposer" not in broken and values["proposer"] and values["proposer"].get("model"):
        complaints += model_complaints(values["proposer"]["model"], ("proposer", "model"))
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
        chosen = None if section[0] in broken else section_at(section, values)
        if chosen is None:
            continue
        try:
            extension = load_extension(group, chosen[key])
        except ExtensionError as error:
            yield Complaint((*section, key), " ".join(str(error).split()))
        else:
            yield from schema_complaints(extension.options_schema, chosen["options"], (*section, "options"))


def section_at(path: KeyPath, values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The section at `path`; None where nothing is chosen."""
    here: Mapping[str, Any] | None = values
    for part in path:
        here = here.get(str(part)) if here else None
    return here

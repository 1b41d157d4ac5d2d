"""Finding agents, sandboxes, proposers and policies by name, among what is installed."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from bench.errors import ExtensionError
from bench.text import did_you_mean


def find_extension(group: str, name: str) -> EntryPoint:
    """The entry point `name` of `incumbent.<group>`. ExtensionError lists those that there are."""
    found = entry_points(group=f"incumbent.{group}")
    matching = [point for point in found if point.name == name]
    if not matching:
        known = sorted({point.name for point in found})
        raise ExtensionError(
            f"nothing is registered as {name!r} under incumbent.{group}{did_you_mean(name, known)}\n"
            f"  registered there: {', '.join(known) or 'nothing'}"
        )
    if len(matching) > 1:
        owners = ", ".join(sorted(point.dist.name if point.dist else "?" for point in matching))
        raise ExtensionError(
            f"{name!r} is registered under incumbent.{group} more than once: {owners}; uninstall one"
        )
    return matching[0]


def load_extension(group: str, name: str) -> Any:
    """What the entry point `name` of `incumbent.<group>` names. ExtensionError lists those that there are."""
    point = find_extension(group, name)
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        owner = point.dist.name if point.dist else "an unknown distribution"
        raise ExtensionError(
            f"{name!r} of incumbent.{group}, which {owner} registers, cannot be loaded: {error}"
        ) from error

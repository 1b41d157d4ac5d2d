"""The file of a sealed plan, read as whichever of its versions and parts a room knows."""

from collections.abc import Collection
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from bench.digest import digest_bytes
from bench.errors import RunError
from bench.strict_json import parse_json

PLAN = "plan.json"
PLAN_VERSION = 2  # 2: `declared` and `proposed`, and where the row of each cell comes from
PLAN_VERSIONS = range(1, PLAN_VERSION + 1)

Kind = TypeVar("Kind")


class _Version(Struct, frozen=True):
    schema_version: int


def read_plan_as(
    path: Path, kind: type[Kind], versions: Collection[int] = PLAN_VERSIONS, *, strict: bool = False
) -> tuple[Kind, str]:
    """The plan in a file as `kind`, and the digest that its rows carry. RunError if it is none, or of no version
    among `versions`. `strict` also refuses keys that are there twice, which takes several times as long.
    """
    try:
        content = path.read_bytes()
        if strict:
            parse_json(content)
        version = msgspec.json.decode(content, type=_Version).schema_version
        if version not in versions:
            raise RunError(
                f"{path}: schema_version {version} is not supported, only {_listed(versions)}\n"
                "  use the version of incumbent that wrote it, or start a new run"
            )
        return msgspec.json.decode(content, type=kind), digest_bytes(content.removesuffix(b"\n"))
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read: it is not a plan of this version: {error}") from error


def _listed(versions: Collection[int]) -> str:
    first, last = min(versions), max(versions)
    return f"{last} is" if first == last else f"{first} to {last}"

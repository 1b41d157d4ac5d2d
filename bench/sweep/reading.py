"""A sealed plan, read back from its file."""

from pathlib import Path

import msgspec
from msgspec import Struct

from bench.digest import digest_bytes
from bench.errors import RunError
from bench.strict_json import parse_json
from bench.sweep.model import PLAN_VERSION, Plan


class _Version(Struct, frozen=True):
    schema_version: int


def read_plan(path: Path) -> tuple[Plan, str]:
    """The plan in a file and the digest that its rows carry. RunError if it is none, or of another version."""
    try:
        content = path.read_bytes()
        parse_json(content)
        version = msgspec.json.decode(content, type=_Version).schema_version
        if version != PLAN_VERSION:
            raise RunError(
                f"{path}: schema_version {version} is not supported, only {PLAN_VERSION} is\n"
                "  use the version of incumbent that wrote it, or start a new run"
            )
        return msgspec.json.decode(content, type=Plan), digest_bytes(content.removesuffix(b"\n"))
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} is not a plan of this version: {error}") from error

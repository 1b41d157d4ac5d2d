"""The names of temporary files, from which alone it can be told what they are."""

import re
from typing import Literal

from msgspec import Struct

from bench.digest import digest_bytes
from evolve.apply.folders import name_of
from evolve.apply.model import Change, LeftoverKind

PREFIX = ".incumbent-"
RECOVERY_PREFIX = f"{PREFIX}recovery-"
UNFINISHED = ".part"

_SHORT = 12
_NAME = re.compile(
    rf"{re.escape(PREFIX)}(?P<token>[0-9a-f]{{8}})-(?P<kind>exchange|backup)"
    rf"-(?P<before>[0-9a-f]{{{_SHORT}}})-(?P<after>[0-9a-f]{{{_SHORT}}})-(?P<name>.+?)(?P<part>{re.escape(UNFINISHED)})?"
)


class TemporaryName(Struct, frozen=True, kw_only=True):
    """What a temporary file's name says. `before` and `after` begin the digests of its destination's bytes."""

    token: str
    kind: LeftoverKind
    before: str
    after: str
    destination: str


def temporary_name(change: Change, kind: Literal["exchange", "backup"], token: str) -> str:
    """The name of a temporary file beside a change's destination."""
    before, after = (short(content) for content in (change.before, change.after))
    return f"{PREFIX}{token}-{kind}-{before}-{after}-{name_of(change.path)}"


def read_name(name: str) -> TemporaryName | None:
    """What the name of a temporary file says; None for any other file."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    kind: LeftoverKind = (
        "unfinished" if found["part"] else "backup" if found["kind"] == "backup" else "exchange"
    )
    return TemporaryName(
        token=found["token"],
        kind=kind,
        before=found["before"],
        after=found["after"],
        destination=found["name"],
    )


def short(content: bytes) -> str:
    """The first digits of a digest, as names hold it."""
    return digest_bytes(content)[:_SHORT]

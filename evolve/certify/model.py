"""What a certification says, as data: schemas/certificate.schema.json."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

CERTIFICATE_VERSION = 1

Basis = Literal["enumerated", "simulated"]


class Check(Struct, frozen=True, kw_only=True):
    """One bound and what was found. `rate` is exact where `basis` says so; else `promoted` of `trials`, and
    `lowest` is the exact one-sided 99 % bound below it: the check fails if even that is above `bound`.
    """

    name: str
    basis: Basis
    bound: float
    rate: float
    lowest: float
    promoted: int | None
    trials: int
    holds: bool


class Point(Struct, frozen=True, kw_only=True):
    """The operating characteristic at one true effect, with an exact 95 % interval of the rate."""

    effect: float
    promoted: int
    trials: int
    rate: float
    interval: tuple[float, float]


class Certificate(Struct, frozen=True, kw_only=True):
    """How often a policy is wrong, and how often right, for one design. `rows` says whose rows were used."""

    schema_version: int
    policy: str
    parameters: Mapping[str, Any]
    tasks: int
    repeats: int
    rows: str
    seed: int
    bound: float
    checks: tuple[Check, ...]
    curve: tuple[Point, ...]
    holds: bool

"""What sessions use, as exact numbers, and the lines of the spend journal. Pure."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Literal

from msgspec import Struct

from bench.results import StopCause

# A price of a millionth of a dollar per million tokens is one of these per token: so every cost is a whole number.
PICODOLLARS = 10**12
SCHEMA_VERSION = 1

# the arm of sessions that belong to no cell: those that write a proposal; no arm can be named so
PROPOSER = "(proposer)"

Unit = Literal["usd", "cells", "sessions", "tokens"]
Basis = Literal["none", "declared", "agent", "gateway", "prices", "unpriced", "ceiling", "unknown"]


class Amounts(Struct, frozen=True, kw_only=True):
    """What was used, or may be. `picodollars` are millionths of a millionth of a dollar, so that sums are exact."""

    picodollars: int = 0
    cells: int = 0
    sessions: int = 0
    tokens: int = 0

    def of(self, unit: Unit) -> int:
        """The amount in one unit; money in picodollars."""
        return self.picodollars if unit == "usd" else int(getattr(self, unit))

    def plus(self, other: "Amounts") -> "Amounts":
        """The sum."""
        return Amounts(
            picodollars=self.picodollars + other.picodollars,
            cells=self.cells + other.cells,
            sessions=self.sessions + other.sessions,
            tokens=self.tokens + other.tokens,
        )

    def minus(self, other: "Amounts") -> "Amounts":
        """The difference."""
        return Amounts(
            picodollars=self.picodollars - other.picodollars,
            cells=self.cells - other.cells,
            sessions=self.sessions - other.sessions,
            tokens=self.tokens - other.tokens,
        )


NOTHING = Amounts()


class SessionName(Struct, frozen=True, kw_only=True):
    """Whose session it is, in one run."""

    generation: int
    task: str
    arm: str
    repeat: int
    attempt: int
    session: str

    @property
    def cell(self) -> tuple[int, str, str, int]:
        """The cell, whatever the attempt."""
        return (self.generation, self.task, self.arm, self.repeat)

    @property
    def in_cell(self) -> bool:
        """Whether it belongs to a cell at all."""
        return self.arm != PROPOSER


class Opened(Struct, frozen=True, kw_only=True, tag="opened", tag_field="entry"):
    """The first line of a journal: its version, and the digest of the price table that costs were computed by."""

    schema_version: int
    prices: str


class Reserved(Struct, frozen=True, kw_only=True, tag="reserved", tag_field="entry"):
    """Written before a session starts: the most that it may use."""

    id: int
    session: SessionName
    amounts: Amounts


class Settled(Struct, frozen=True, kw_only=True, tag="settled", tag_field="entry"):
    """Written after a session: what it used.

    `basis` says how its cost is known. A unit in `unknown` was not measured and has no ceiling to stand for it:
    its amount here is 0 and means nothing. `over` are the units in which it used more than it had reserved.
    """

    id: int
    amounts: Amounts
    seconds: float
    basis: Basis
    unknown: tuple[Unit, ...] = ()
    over: tuple[Unit, ...] = ()


Entry = Opened | Reserved | Settled


class Stop(Struct, frozen=True):
    """Why a session is not started."""

    kind: StopCause
    detail: str


def picodollars(usd: float | Decimal) -> int:
    """Dollars as a whole number, rounded up: a cost is never less than it was."""
    return _scaled(usd, ROUND_CEILING)


def picodollar_cap(usd: float | Decimal) -> int:
    """Dollars as a whole number, rounded down: a cap is never more than it was."""
    return _scaled(usd, ROUND_FLOOR)


def dollars(amount: int) -> str:
    """An amount of picodollars for people: at least cents, and no digit that is lost."""
    whole, rest = divmod(amount, PICODOLLARS)
    return f"${whole}.{f'{rest:012d}'.rstrip('0').ljust(2, '0')}"


def shown(unit: Unit, amount: int) -> str:
    """An amount with its unit, for people."""
    return dollars(amount) if unit == "usd" else f"{amount:,} {unit}"


def _scaled(usd: float | Decimal, rounding: str) -> int:
    # by its text: 0.1 means a tenth, not the binary fraction nearest to it
    return int((Decimal(str(usd)) * PICODOLLARS).to_integral_value(rounding=rounding))

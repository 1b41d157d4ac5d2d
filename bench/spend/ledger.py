"""The budget's rules: settled and reserved amounts together never pass a limit. Pure."""

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct, structs

from bench.spend.model import (
    NOTHING,
    Amounts,
    Entry,
    Opened,
    Reserved,
    SessionName,
    Settled,
    Unit,
    picodollar_cap,
    shown,
)

_CLOSEST: tuple[Unit, ...] = ("usd", "cells", "sessions", "tokens")


class Caps(Struct, frozen=True, kw_only=True):
    """The most of each unit, None where there is no limit; money in dollars."""

    usd: float | None = None
    cells: int | None = None
    sessions: int | None = None
    tokens: int | None = None


class Limit(Struct, frozen=True, kw_only=True):
    """One limit. `before` is what other runs have used of it: those of the campaign, or of the same multirun."""

    scope: Literal["run", "campaign"]
    unit: Unit
    most: int
    before: int = 0

    @property
    def key(self) -> str:
        """Where it is configured."""
        return f"budget.{self.unit}" if self.scope == "run" else f"budget.campaign.{self.unit}"


class Refused(Struct, frozen=True, kw_only=True):
    """A session that does not fit under `limit`. `final` if it will not fit either once all that run have ended."""

    limit: Limit
    settled: int
    reserved: int
    asked: int
    final: bool

    def sentence(self) -> str:
        """What stands in the way, for people."""
        unit = self.limit.unit
        parts = [f"{shown(unit, self.limit.before + self.settled)} used"]
        parts += [f"{shown(unit, self.reserved)} reserved"] if self.reserved else []
        return (
            f"{self.limit.key} is {shown(unit, self.limit.most)}: with {' and '.join(parts)}, "
            f"a session of up to {shown(unit, self.asked)} does not fit"
        )


class ArmSpend(Struct, frozen=True, kw_only=True):
    """What one arm's sessions used; `unpriced` sessions count as declared, `unknown` ones are in no sum of money."""

    amounts: Amounts = NOTHING
    seconds: float = 0.0
    at_ceiling: int = 0
    unpriced: int = 0
    unknown: int = 0
    over: int = 0


class Ledger:
    """The sum of a run's reservations and settlements.

    `reserve` only decides: nothing counts before `take` was given the entry, so that it can be written down first.
    """

    def __init__(self, limits: Sequence[Limit] = ()) -> None:
        self.limits = tuple(limits)
        self.settled = NOTHING
        self.reserved = NOTHING
        self.arms: dict[str, ArmSpend] = {}
        self.unknown: dict[Unit, int] = {}
        self._open: dict[int, Reserved] = {}
        self._cells: set[tuple[int, str, str, int]] = set()
        self._last = 0

    def reserve(self, session: SessionName, ceiling: Amounts) -> Reserved | Refused:
        """The reservation of one session with this ceiling, or the limit that it does not fit under."""
        new = 1 if session.in_cell and session.cell not in self._cells else 0
        asked = structs.replace(ceiling, sessions=1, cells=new)
        refusals = [refused for limit in self.limits if (refused := self._refused(limit, asked))]
        if refusals:
            return max(refusals, key=lambda each: each.final)
        return Reserved(id=self._last + 1, session=session, amounts=asked)

    def take(self, entry: Entry) -> None:
        """Count an entry. ValueError for a settlement of what is not reserved, and an id that was used."""
        if isinstance(entry, Reserved):
            self._take_reservation(entry)
        elif isinstance(entry, Settled):
            self._take_settlement(entry)

    def abandon(self) -> None:
        """Count every open reservation at its ceiling for good: its session was lost with the process that ran it."""
        for entry in list(self._open.values()):
            self._take_settlement(Settled(id=entry.id, amounts=entry.amounts, seconds=0.0, basis="ceiling"))

    def used(self, limit: Limit) -> int:
        """What is settled and reserved under a limit, other runs included."""
        return limit.before + self.settled.of(limit.unit) + self.reserved.of(limit.unit)

    def _refused(self, limit: Limit, asked: Amounts) -> Refused | None:
        wanted = asked.of(limit.unit)
        if not wanted or self.used(limit) + wanted <= limit.most:
            return None
        settled = self.settled.of(limit.unit)
        return Refused(
            limit=limit,
            settled=settled,
            reserved=self.reserved.of(limit.unit),
            asked=wanted,
            final=limit.before + settled + wanted > limit.most,
        )

    def _take_reservation(self, entry: Reserved) -> None:
        if entry.id <= self._last:
            raise ValueError(f"reservation {entry.id} follows {self._last}")
        self._last = entry.id
        self._open[entry.id] = entry
        self._cells.add(entry.session.cell)
        self.reserved = self.reserved.plus(entry.amounts)

    def _take_settlement(self, entry: Settled) -> None:
        reservation = self._open.pop(entry.id, None)
        if reservation is None:
            raise ValueError(f"{entry.id} is no open reservation")
        self.reserved = self.reserved.minus(reservation.amounts)
        self.settled = self.settled.plus(entry.amounts)
        for unit in entry.unknown:
            self.unknown[unit] = self.unknown.get(unit, 0) + 1
        arm = reservation.session.arm
        self.arms[arm] = _with(self.arms.get(arm, ArmSpend()), entry)


def limits_of(
    run: Caps, campaign: Caps, before: Amounts = NOTHING, siblings: Amounts = NOTHING
) -> tuple[Limit, ...]:
    """The limits of a run in a campaign whose other runs have used `before`, and whose `siblings` of a multirun have
    used of the one budget that holds for all of them.
    """
    own = [Limit(scope="run", unit=unit, most=most, before=siblings.of(unit)) for unit, most in _capped(run)]
    shared = [
        Limit(scope="campaign", unit=unit, most=most, before=before.of(unit))
        for unit, most in _capped(campaign)
    ]
    return (*own, *shared)


def replay(entries: Iterable[Entry], limits: Sequence[Limit] = ()) -> Ledger:
    """The ledger that a journal adds up to, nothing of it running any more."""
    ledger = Ledger(limits)
    for entry in entries:
        if not isinstance(entry, Opened):
            ledger.take(entry)
    ledger.abandon()
    return ledger


def _capped(caps: Caps) -> list[tuple[Unit, int]]:
    given = [(unit, getattr(caps, unit)) for unit in _CLOSEST]
    return [
        (unit, picodollar_cap(most) if unit == "usd" else int(most))
        for unit, most in given
        if most is not None
    ]


def _with(spend: ArmSpend, entry: Settled) -> ArmSpend:
    return ArmSpend(
        amounts=spend.amounts.plus(entry.amounts),
        seconds=spend.seconds + entry.seconds,
        at_ceiling=spend.at_ceiling + (entry.basis == "ceiling"),
        unpriced=spend.unpriced + (entry.basis == "unpriced"),
        unknown=spend.unknown + ("usd" in entry.unknown),
        over=spend.over + bool(entry.over),
    )

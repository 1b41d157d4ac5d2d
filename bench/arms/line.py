"""A session's line to its model: a socket of its own, a purse for its requests, and what they used."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, structs

from bench.arms.model import ModelFault, Session
from bench.gateway import (
    Allowance,
    Cause,
    CellTraffic,
    Gateway,
    GatewayCell,
    Limit,
    Rates,
    RequestRecord,
    TokenTariff,
    Way,
    way_to,
)
from bench.measured import Charged, End, SessionReport, Usage
from bench.sandbox import Layout
from bench.spend import Ceiling

_PICODOLLARS = 10**12
_UNLIMITED = 10**40
_USD, _TOKENS = "budget.cell.usd", "budget.cell.tokens"
_COMPARED = ("input", "cache_read", "cache_write", "output", "reasoning")
_MILLISECONDS = 1000.0
_SAME_COST = 1e-9  # dollars
# An answer of which nothing came for so long a part of a session is the provider's failure.
_HUNG = 0.5
_PROVIDER: frozenset[Cause] = frozenset(
    {
        "key-refused", "provider-error", "unreachable", "connection-dropped", "stream-cut", "throttled",
        "not-the-protocol", "malformed", "two-terminals", "replay-miss", "no-scripted-reply", "distrusted",
    }
)  # fmt: skip
_OWN: frozenset[Cause] = frozenset(
    {"unbounded", "too-large", "slow-request", "bad-request", "unknown-path", "not-served"}
)
# An agent that takes such an answer for its last one says that all is well.
_UNTRUSTED: frozenset[Cause] = frozenset(
    {"not-the-protocol", "malformed", "stream-cut", "connection-dropped", "distrusted"}
)
_ADVICE: dict[Cause, str] = {
    "key-refused": "; is the key that model.key names still good, and for this address?",
    "not-the-protocol": "; does model.base_url name a server of models, with its version?",
}
_LEFT: frozenset[Cause] = frozenset({"client-left", "stopped"})


class ModelAccess(Struct, frozen=True, kw_only=True):
    """A running gateway, and what a token of its model costs in picodollars; None if nobody knows."""

    gateway: Gateway
    rates: Rates | None


class Owner(Struct, frozen=True, kw_only=True):
    """Whose requests they are."""

    cell: str
    task: str
    session: str


class Line:
    """The line of one session. `measured` once it is closed."""

    def __init__(
        self, access: ModelAccess, owner: Owner, cell: GatewayCell, way: Way, purse: Allowance
    ) -> None:
        self._access, self._owner, self._cell, self._purse = access, owner, cell, purse
        self.way = way
        self.traffic = CellTraffic(records=())

    def limit(self, turns: int) -> None:
        """Let the session have so many answers and no more; called before it starts."""
        self._cell.begin(self._owner.session, self._purse, turns)

    def measured(self, session: Session) -> tuple[Session, bytes]:
        """The session with what the gateway measured of it, and the log of its requests."""
        settled = self._purse.settled
        records = self.traffic.records
        charged = Charged(picodollars=settled.get(_USD), tokens=settled[_TOKENS])
        report = with_usage(session.report, self._usage())
        broke = session.result.end is not End.EXITED or session.report.status != "completed"
        return structs.replace(
            session,
            report=report,
            charged=charged,
            fault=model_fault(records, session.result.seconds if broke else None),
        ), self.traffic.log()

    def _usage(self) -> Usage:
        used = self.traffic.usage(self._owner.session)
        return Usage(
            input=used.input,
            cache_read=used.cache_read,
            cache_write=used.cache_write,
            output=used.output,
            reasoning=used.reasoning,
            cost_usd=cost_of(self.traffic.records, self._access.rates),
            requests=self.traffic.requests(self._owner.session),
            source="gateway",
        )


@contextmanager
def open_line(
    access: ModelAccess, owner: Owner, place: Path, layout: Layout, ceiling: Ceiling
) -> Iterator[Line]:
    """A line that lasts as long as the block; its socket lies in the folder `place`. GatewayBroken if the gateway is
    gone.
    """
    folder = place / "gateway"
    folder.mkdir(mode=0o700)
    cell = access.gateway.open_cell(owner.cell, owner.task, folder)
    purse = Allowance(_limits(access.rates, ceiling))
    try:
        cell.begin(owner.session, purse)
        line = Line(access, owner, cell, way_to(cell, layout), purse)
        yield line
    finally:
        traffic = _closed(cell, folder)
    line.traffic = traffic


def _closed(cell: GatewayCell, folder: Path) -> CellTraffic:
    traffic = cell.close()
    shutil.rmtree(folder, ignore_errors=True)
    return traffic


def _limits(rates: Rates | None, ceiling: Ceiling) -> list[Limit]:
    """Every unit is counted; one that nobody limits has no end."""
    tokens = Limit(_TOKENS, _UNLIMITED if ceiling.tokens is None else ceiling.tokens, TokenTariff())
    if rates is None:
        return [tokens]
    return [Limit(_USD, _UNLIMITED if ceiling.usd is None else ceiling.usd, rates), tokens]


def cost_of(records: Sequence[RequestRecord], rates: Rates | None) -> float | None:
    """Dollars of all requests that may have been charged; None if that of one is unknown."""
    if rates is None:
        return None
    costs = [rates.cost(each.usage) for each in records if each.usage is not None]
    return None if None in costs else sum(cost for cost in costs if cost is not None) / _PICODOLLARS


def with_usage(report: SessionReport, measured: Usage) -> SessionReport:
    """The report with what the gateway measured; what the agent said stays beside it where it is something else."""
    own = report.usage
    usage = structs.replace(measured, turns=own.turns)
    differs = any(_differ(getattr(own, name), getattr(usage, name)) for name in _COMPARED) or (
        own.cost_usd is not None
        and usage.cost_usd is not None
        and abs(own.cost_usd - usage.cost_usd) > _SAME_COST
    )
    return structs.replace(report, usage=usage, reported=own if differs else None)


def _differ(own: int | None, measured: int | None) -> bool:
    return own is not None and own != measured


def model_fault(records: Sequence[RequestRecord], seconds: float | None) -> ModelFault | None:
    """What ended a session that broke after `seconds`, as far as its requests tell; of one that did not break (None)
    only a budget's end counts, and a last answer that is not to be trusted.
    """
    refused = next((each for each in records if each.cause == "budget"), None)
    if refused is not None:
        return ModelFault("budget", refused.detail)
    asked = [each for each in records if each.protocol is not None]
    if seconds is None:
        final = asked[-1].cause if asked else None
        return _fault_of(final, f"{final}: {asked[-1].detail}") if final in _UNTRUSTED else None
    hung = next((each for each in asked if _hung(each, seconds)), None)
    if hung is not None:
        return ModelFault("provider", f"the model did not go on with its answer for {_silence(hung):.0f} s")
    last = next((each for each in reversed(asked) if each.cause not in _LEFT), None)
    return (
        None if last is None or last.cause is None else _fault_of(last.cause, f"{last.cause}: {last.detail}")
    )


def _fault_of(cause: Cause, said: str) -> ModelFault | None:
    if cause in _PROVIDER:
        return ModelFault("provider", said + _ADVICE.get(cause, ""))
    if cause == "too-many-requests":
        return ModelFault("too-many", said)
    return ModelFault("request", said) if cause in _OWN else None


def _hung(record: RequestRecord, seconds: float) -> bool:
    return record.cause in _LEFT and _silence(record) >= _HUNG * seconds


def _silence(record: RequestRecord) -> float:
    """The seconds at the end of a request in which nothing came."""
    return (record.ms - (record.last_byte_ms or 0.0)) / _MILLISECONDS

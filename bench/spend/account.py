"""What a run has spent, for its reports. Pure."""

from msgspec import Struct

from bench.results import ReportSpend, SpendLine
from bench.spend.ledger import ArmSpend, Ledger, Limit
from bench.spend.model import PROPOSER, dollars, shown
from bench.spend.terms import Terms

# a budget is part of a run's configuration, which resume does not change
OUT_OF_BUDGET = "its budget is used up; next: run it again with a higher limit:"


class Account(Struct, frozen=True, kw_only=True):
    """A ledger as it stood: per arm, against its limits. `prices` names the files and the digest of the prices."""

    arms: dict[str, ArmSpend]
    limits: dict[str, str]
    unknown: int
    prices: str
    calls_model: bool
    priced: bool

    def report(self) -> ReportSpend:
        """The section of a report."""
        lines = tuple(
            _line(arm, spend, free=not self.calls_model) for arm, spend in sorted(self.arms.items())
        )
        return ReportSpend(lines=lines, notes=tuple(self._notes()))

    def _notes(self) -> list[str]:
        notes = [f"{key}: {used}" for key, used in self.limits.items()]
        if not self.calls_model:
            return [*notes, "the agent declares that it calls no model: its sessions cost nothing"]
        notes.append(f"prices: {self.prices}" if self.priced else "prices: none is known for this model")
        if self.unknown:
            notes.append(f"the cost of {self.unknown} sessions is unknown: it is in no sum")
        return notes


def account_of(ledger: Ledger, terms: Terms, prices: str) -> Account:
    """The account of a ledger now."""
    return Account(
        arms=dict(ledger.arms),
        limits={limit.key: _used(ledger, limit) for limit in ledger.limits},
        unknown=ledger.unknown.get("usd", 0),
        prices=prices,
        calls_model=terms.calls_model or PROPOSER in ledger.arms,
        priced=terms.price is not None,
    )


def _used(ledger: Ledger, limit: Limit) -> str:
    before = f", of which {shown(limit.unit, limit.before)} by other runs" if limit.before else ""
    return f"{shown(limit.unit, ledger.used(limit))} of {shown(limit.unit, limit.most)} used{before}"


def _line(arm: str, spend: ArmSpend, *, free: bool) -> SpendLine:
    counted = (
        (spend.at_ceiling, "counted at the ceiling"),
        (spend.unpriced, "counted as budget.unpriced says"),
        (spend.unknown, "of unknown cost"),
        (spend.over, "over the reservation"),
    )
    known = spend.amounts.sessions > spend.unknown
    return SpendLine(
        arm=arm,
        sessions=spend.amounts.sessions,
        seconds=spend.seconds,
        cost=dollars(spend.amounts.picodollars) if known else None,
        tokens=None if free else spend.amounts.tokens,
        notes=tuple(f"{count} {what}" for count, what in counted if count),
    )

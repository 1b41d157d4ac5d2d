"""What the sessions of a run are paid from."""

import threading
from collections import deque
from typing import Protocol

from msgspec import Struct

from bench.cancellation import Cancellation
from bench.spend.account import Account, account_of
from bench.spend.journal import Journal
from bench.spend.ledger import Ledger, Refused
from bench.spend.model import Amounts, Reserved, SessionName, Settled, Stop, shown
from bench.spend.terms import Ceiling, SessionUse, Terms, session_ceiling, settlement
from bench.spend.time_left import LEAST_FREE, LEAST_PAID, Ends, session_seconds

_REMEMBERED = 50  # durations of an arm's latest sessions


class Allowance(Struct, frozen=True, kw_only=True):
    """A session that may start: what is reserved for it, and the seconds that it may take. `clamped` if the end of
    the run leaves it less than the configured timeout.
    """

    reserved: Reserved
    ceiling: Ceiling
    seconds: float
    clamped: bool


class Purse(Protocol):
    """Asked before every session, told after it."""

    @property
    def closed(self) -> Stop | None:
        """Why no further cell may begin, if so."""
        ...

    def begin(self, session: SessionName, before: Amounts) -> Allowance | Stop:
        """Reserve the ceiling of a session whose cell has used `before`."""
        ...

    def end(self, allowance: Allowance, use: SessionUse) -> Amounts:
        """Settle what the session used; that is what counts from now on."""
        ...

    def counted(self, session: SessionName, before: Amounts, use: SessionUse) -> Amounts:
        """What a session that an earlier process settled counts as within its cell."""
        ...


class OpenPurse:
    """The purse of a measurement that nobody limits or counts: of one cell that a person looks into."""

    closed: Stop | None = None

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout

    def begin(self, session: SessionName, before: Amounts) -> Allowance | Stop:  # noqa: ARG002 - the protocol
        """Always."""
        reserved = Reserved(id=0, session=session, amounts=Amounts())
        return Allowance(
            reserved=reserved, ceiling=Ceiling(usd=None, tokens=None), seconds=self._timeout, clamped=False
        )

    def end(self, allowance: Allowance, use: SessionUse) -> Amounts:  # noqa: ARG002 - the protocol
        """Nothing is counted."""
        return Amounts()

    def counted(self, session: SessionName, before: Amounts, use: SessionUse) -> Amounts:  # noqa: ARG002 - the protocol
        """Nothing is counted."""
        return Amounts()


class Rules(Struct, frozen=True, kw_only=True):
    """By what a purse decides."""

    terms: Terms
    timeout: float
    ends: Ends
    prices: str


class Spending:
    """The purse of a run, shared by all its workers: every entry is written down before it counts."""

    def __init__(self, journal: Journal, ledger: Ledger, rules: Rules, cancellation: Cancellation) -> None:
        self._journal, self._ledger, self._rules = journal, ledger, rules
        self._cancellation = cancellation
        self._changed = threading.Condition()
        self._closed: Stop | None = None
        self._broken = False
        self._took: dict[str, deque[float]] = {}

    @property
    def closed(self) -> Stop | None:
        """What ended the run, if that was its budget or its time, and nothing before it."""
        return self._closed

    def begin(self, session: SessionName, before: Amounts) -> Allowance | Stop:
        """Reserve the ceiling of a session whose cell has used `before`. Where it would fit but for the ceilings of
        sessions that run, their ends are waited for: most of them need less.
        """
        with self._changed:
            while True:
                answer = self._decide(session, before)
                if isinstance(answer, Allowance):
                    self._take(answer.reserved)
                if not isinstance(answer, Refused):
                    return answer
                self._changed.wait()

    def end(self, allowance: Allowance, use: SessionUse) -> Amounts:
        """Settle what the session used. More than was reserved counts in full, and closes the purse."""
        entry = settlement(self._rules.terms, allowance.reserved, allowance.ceiling, use)
        with self._changed:
            try:
                self._take(entry)
            finally:
                self._changed.notify_all()  # also where the journal cannot be written: nobody may wait for ever
            if use.complete:
                arm = allowance.reserved.session.arm
                self._took.setdefault(arm, deque(maxlen=_REMEMBERED)).append(use.seconds)
            if entry.over:
                self._broken = True
                self._close(_overrun(allowance, entry))
        return entry.amounts

    def account(self) -> Account:
        """What has been spent so far."""
        with self._changed:
            return account_of(self._ledger, self._rules.terms, self._rules.prices)

    def _take(self, entry: Reserved | Settled) -> None:
        """Write an entry down, then count it. Once one could not be written, no further session starts."""
        try:
            self._journal.append(entry)
        except BaseException:
            self._broken = True
            raise
        self._ledger.take(entry)

    def counted(self, session: SessionName, before: Amounts, use: SessionUse) -> Amounts:
        """What a session that an earlier process settled counts as within its cell."""
        rules = self._rules
        ceiling = session_ceiling(rules.terms, before) or Ceiling(usd=0, tokens=0)
        reserved = Reserved(id=0, session=session, amounts=ceiling.amounts)
        return settlement(rules.terms, reserved, ceiling, use).amounts

    def _decide(self, session: SessionName, before: Amounts) -> Allowance | Stop | Refused:
        """The allowance, the reason against it, or what to wait for."""
        stop = self._standing(session, before)
        if stop is not None:
            return stop
        ceiling = session_ceiling(self._rules.terms, before)
        if ceiling is None:
            return Stop(
                "budget-exhausted", f"{_named(session)}: its cell has used all that budget.cell allows"
            )
        seconds = self._seconds(session.arm)
        if seconds is None:
            return self._close(
                Stop("deadline", f"{_named(session)} could not finish before the run must end")
            )
        answer = self._ledger.reserve(session, ceiling.amounts)
        if isinstance(answer, Refused):
            return self._close(Stop("budget-exhausted", answer.sentence())) if answer.final else answer
        timeout = self._rules.timeout
        return Allowance(reserved=answer, ceiling=ceiling, seconds=seconds, clamped=seconds < timeout)

    def _standing(self, session: SessionName, before: Amounts) -> Stop | None:
        """What stands against any session: a closed purse only lets cells that have begun go on, if they fit."""
        if self._cancellation.cancelled:
            return Stop("cancelled", f"stopped before {_named(session)} began")
        if self._broken:
            return self._closed or Stop("budget-exhausted", f"{self._journal.path} cannot be written")
        return None if before.sessions else self._closed

    def _seconds(self, arm: str) -> float | None:
        rules = self._rules
        least = LEAST_PAID if rules.terms.calls_model else LEAST_FREE
        return session_seconds(rules.timeout, rules.ends.left(), least, self._took.get(arm, ()))

    def _close(self, stop: Stop) -> Stop:
        """No new cell begins any more. A cancellation that came before stays the cause."""
        if self._closed is None and not self._cancellation.cancelled:
            self._closed = stop
        return stop


def _named(session: SessionName) -> str:
    if not session.in_cell:
        return f"session {session.session} of generation {session.generation}"
    return f"session {session.session} of {session.task}/{session.arm}/{session.repeat}"


def _overrun(allowance: Allowance, entry: Settled) -> Stop:
    session = allowance.reserved.session
    parts = []
    for unit in entry.over:
        most = allowance.ceiling.amounts.of(unit)
        parts.append(f"{shown(unit, entry.amounts.of(unit))} where {shown(unit, most)} were reserved")
    return Stop("budget-exhausted", f"{_named(session)} reports {' and '.join(parts)}")

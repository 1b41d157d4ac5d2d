"""The budget's rules under any interleaving: what is settled and reserved never passes a limit."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule
from spend_builders import amounts, session

from bench.spend import (
    NOTHING,
    PROPOSER,
    Amounts,
    Caps,
    Entry,
    Ledger,
    Refused,
    Reserved,
    Settled,
    dollars,
    limits_of,
    picodollar_cap,
    picodollars,
    replay,
)

small = st.integers(0, 40)
cap = st.none() | st.integers(1, 120)
tasks = st.sampled_from(["s", "t", "u", "v"])


def settled(reserved: Reserved, usd: int, tokens: int) -> Settled:
    used = Amounts(picodollars=usd, tokens=tokens, sessions=1, cells=reserved.amounts.cells)
    return Settled(id=reserved.id, amounts=used, seconds=0.0, basis="agent")


class Spender(RuleBasedStateMachine):
    """Sessions begin and end in any order, each within its ceiling; now and then the process dies."""

    running = Bundle("running")

    @initialize(
        run=st.builds(Caps, cells=cap, sessions=cap, tokens=cap),
        campaign=st.builds(Caps, cells=cap, sessions=cap, tokens=cap),
        usd=cap,
        before=st.builds(Amounts, picodollars=small, cells=small, sessions=small, tokens=small),
    )
    def open(self, run: Caps, campaign: Caps, usd: int | None, before: Amounts) -> None:
        made = limits_of(run, campaign, before)
        shared = limits_of(Caps(), Caps(usd=1), before)[0]
        # a cap of some picodollars, which no dollar figure of a test would give
        self.limits = (*made, *(() if usd is None else (replace_most(shared, usd),)))
        self.limits = tuple(limit for limit in self.limits if limit.before <= limit.most)
        self.ledger = Ledger(self.limits)
        self.journal: list[Entry] = []
        self.truth = NOTHING

    @rule(target=running, task=tasks, usd=small, tokens=small)
    def begin(self, task: str, usd: int, tokens: int) -> Reserved | None:
        answer = self.ledger.reserve(session(task), amounts(usd, tokens))
        if isinstance(answer, Refused):
            assert answer.limit.before + answer.settled + answer.reserved + answer.asked > answer.limit.most
            assert answer.final == (answer.limit.before + answer.settled + answer.asked > answer.limit.most)
            return None
        self._take(answer)
        return answer

    @rule(reserved=running, share=st.floats(0, 1))
    def end(self, reserved: Reserved | None, share: float) -> None:
        if reserved is None or reserved.id not in self.ledger._open:
            return
        ceiling = reserved.amounts
        entry = settled(reserved, int(ceiling.picodollars * share), int(ceiling.tokens * share))
        self.truth = self.truth.plus(entry.amounts)
        self._take(entry)

    @rule()
    def die(self) -> None:
        """What ran is lost, and may have cost all that it had reserved."""
        for reserved in self.ledger._open.values():
            self.truth = self.truth.plus(reserved.amounts)
        self.ledger = replay(self.journal, self.limits)
        assert self.ledger.settled == self.truth

    @invariant()
    def no_limit_is_passed(self) -> None:
        if hasattr(self, "ledger"):
            assert all(self.ledger.used(limit) <= limit.most for limit in self.limits)

    @invariant()
    def the_journal_adds_up_to_the_same(self) -> None:
        if hasattr(self, "ledger"):
            again = replay(self.journal, self.limits)
            assert again.settled == self.ledger.settled.plus(self.ledger.reserved)
            assert again.reserved == NOTHING

    def _take(self, entry: Reserved | Settled) -> None:
        self.journal.append(entry)
        self.ledger.take(entry)


def replace_most(limit: Any, most: int) -> Any:
    return type(limit)(scope=limit.scope, unit=limit.unit, most=most, before=limit.before)


TestSpender = Spender.TestCase


def ledger_of(entries: Sequence[Entry], **caps: Any) -> Ledger:
    ledger = Ledger(limits_of(Caps(**caps), Caps()))
    for entry in entries:
        ledger.take(entry)
    return ledger


def test_a_decision_counts_nothing_before_it_is_taken() -> None:
    ledger = Ledger(limits_of(Caps(sessions=1), Caps()))
    first, second = (ledger.reserve(session(task), NOTHING) for task in "st")
    assert isinstance(first, Reserved)
    assert isinstance(second, Reserved)
    ledger.take(first)
    assert isinstance(ledger.reserve(session("t"), NOTHING), Refused)


def test_a_cell_counts_once_whatever_its_sessions_and_attempts() -> None:
    ledger = Ledger(limits_of(Caps(cells=1), Caps()))
    for name in (session(), session(name="review"), session(attempt=1)):
        answer = ledger.reserve(name, NOTHING)
        assert isinstance(answer, Reserved)
        ledger.take(answer)
    refused = ledger.reserve(session("other"), NOTHING)
    assert isinstance(refused, Refused)
    assert refused.limit.key == "budget.cells"


def test_a_session_outside_of_any_cell_is_a_session_and_no_cell() -> None:
    ledger = Ledger(limits_of(Caps(cells=0, sessions=1), Caps()))
    reserved = ledger.reserve(session(arm=PROPOSER), amounts())
    assert isinstance(reserved, Reserved)
    ledger.take(reserved)
    assert (ledger.reserved.cells, ledger.reserved.sessions) == (0, 1)
    refused = ledger.reserve(session(arm=PROPOSER, attempt=1), amounts())
    assert isinstance(refused, Refused)
    assert refused.limit.unit == "sessions"


def test_more_than_was_reserved_counts_in_full() -> None:
    ledger = Ledger()
    answer = ledger.reserve(session(), amounts(10))
    assert isinstance(answer, Reserved)
    ledger.take(answer)
    ledger.take(settled(answer, 25, 0))
    assert ledger.settled.picodollars == 25
    assert ledger.reserved == NOTHING


def test_a_refusal_says_which_limit_stands_in_the_way_and_with_what() -> None:
    ledger = Ledger(limits_of(Caps(usd=1), Caps()))
    answer = ledger.reserve(session(), amounts(picodollars(0.75)))
    assert isinstance(answer, Reserved)
    ledger.take(answer)
    refused = ledger.reserve(session("other"), amounts(picodollars(0.5)))
    assert isinstance(refused, Refused)
    assert not refused.final
    assert refused.sentence() == (
        "budget.usd is $1.00: with $0.00 used and $0.75 reserved, a session of up to $0.50 does not fit"
    )


@pytest.mark.parametrize(
    "entry",
    [
        Settled(id=1, amounts=NOTHING, seconds=0.0, basis="none"),
        Reserved(id=0, session=session(), amounts=NOTHING),
    ],
)
def test_an_entry_that_contradicts_the_others_is_refused(entry: Reserved | Settled) -> None:
    with pytest.raises(ValueError, match="reservation"):
        Ledger().take(entry)


@given(st.decimals(min_value=0, max_value=10**6, places=12))
def test_dollars_of_twelve_decimals_are_exact(usd: Any) -> None:
    assert picodollars(usd) == picodollar_cap(usd) == usd * 10**12


def test_dollars_are_shown_to_the_last_digit_that_counts() -> None:
    assert [dollars(picodollars(each)) for each in (0, 0.1, 2.345, 1e-12, 12)] == [
        "$0.00", "$0.10", "$2.345", "$0.000000000001", "$12.00",
    ]  # fmt: skip


@given(small, small, cap)
def test_runs_that_share_a_budget_never_pass_it_together(first: int, second: int, most: int | None) -> None:
    shared = limits_of(Caps(tokens=most), Caps(), siblings=Amounts(tokens=first))
    alone = limits_of(Caps(tokens=most), Caps())
    asked = Amounts(tokens=second)
    refused = isinstance(Ledger(shared).reserve(session(), asked), Refused)
    assert refused == (most is not None and second > 0 and first + second > most)
    assert limits_of(Caps(tokens=most), Caps(), siblings=NOTHING) == alone

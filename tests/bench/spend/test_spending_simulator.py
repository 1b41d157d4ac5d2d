"""A simulated provider: any limit, any number of workers, random costs, crashes anywhere. Nothing is overspent."""

import random
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from spend_builders import budget, session, terms, use

from bench.cancellation import Cancellation
from bench.spend import (
    JOURNAL,
    NOTHING,
    Allowance,
    Amounts,
    Ceiling,
    Ends,
    Entry,
    Journal,
    Limit,
    Rules,
    SessionName,
    Spending,
    Stop,
    Terms,
    ends_of,
    read_ledger,
)

CELL = 100  # picodollars and tokens that one cell may use


class Killed(BaseException):
    """The process is gone."""


class MortalJournal(Journal):
    """Dies while it writes its entry number `last`, of which it leaves `torn` bytes; None: the whole line."""

    def __init__(self, path: Path, last: int | None, torn: int | None) -> None:
        self._left, self._torn, self.dead = last, torn, False
        super().__init__(path, "prices", durable=False)

    def append(self, entry: Entry) -> None:
        if self.dead:
            raise Killed
        if self._left is not None:
            self._left -= 1
        if self._left != 0:
            super().append(entry)
            return
        self.dead = True
        if self._torn is None:
            super().append(entry)
        else:
            with self.path.open("ab") as file:
                file.write(b'{"entry":"reserved","id":12345'[: self._torn])
        raise Killed


class Provider:
    """Charges for sessions, and knows the truth of what it charged."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.charged = NOTHING
        self.most = NOTHING

    def charge(self, allowance: Allowance, chance: random.Random) -> tuple[int, int]:
        ceiling = allowance.ceiling.amounts
        usd, tokens = (chance.randint(0, each) for each in (ceiling.picodollars, ceiling.tokens))
        with self._lock:
            self.charged = self.charged.plus(Amounts(picodollars=usd, tokens=tokens, sessions=1))
        return usd, tokens


def run(
    spending: Spending, cells: Sequence[SessionName], provider: Provider, workers: int, seed: int
) -> list[str]:
    """Two sessions a cell, in threads; the cells that were completed."""
    done: list[str] = []

    def work(cell: SessionName) -> None:
        chance, before = random.Random(f"{seed}/{cell.task}/{cell.attempt}"), NOTHING
        for name in ("plan", "work"):
            allowance = spending.begin(structs.replace(cell, session=name), before)
            if isinstance(allowance, Stop):
                return
            usd, tokens = provider.charge(allowance, chance)
            report = use(tokens, usd / 10**12, complete=chance.random() < 0.9)
            before = before.plus(spending.end(allowance, report))
        done.append(cell.task)

    def until_killed(cell: SessionName) -> None:
        try:
            work(cell)
        except Killed:
            return

    with ThreadPoolExecutor(max_workers=workers) as threads:
        list(threads.map(until_killed, cells))
    return done


def rules(of: Terms) -> Rules:
    return Rules(terms=of, timeout=60.0, ends=Ends(), prices="p")


def limits(usd: int | None, tokens: int | None, sessions: int | None, before: int) -> tuple[Limit, ...]:
    caps: dict[Any, int | None] = {"usd": usd, "tokens": tokens, "sessions": sessions}
    run_limits = [Limit(scope="run", unit=unit, most=most) for unit, most in caps.items() if most is not None]
    shared = [Limit(scope="campaign", unit="usd", most=usd, before=min(before, usd))] if usd else []
    return (*run_limits, *shared)


def free_of_prices() -> Terms:
    return terms(usd=CELL, tokens=CELL, price=None)


PRICED = free_of_prices()
UNPRICED = structs.replace(PRICED, unpriced=30)
UNPRICED_WITHOUT_A_LIMIT_OF_THE_CELL = structs.replace(PRICED, unpriced=30, usd=None)


def lives(deaths: Sequence[tuple[int, int | None]]) -> Iterator[tuple[int | None, int | None]]:
    """When each process dies, and how its last line ends; the last one lives."""
    yield from deaths
    yield None, None


@settings(max_examples=60, deadline=None)
@given(
    kept=st.builds(
        limits,
        usd=st.none() | st.integers(1, 2500),
        tokens=st.none() | st.integers(1, 2500),
        sessions=st.none() | st.integers(1, 40),
        before=st.integers(0, 300),
    ),
    workers=st.sampled_from([1, 2, 3, 8, 16]),
    deaths=st.lists(st.tuples(st.integers(1, 25), st.none() | st.integers(0, 30)), max_size=4),
    seed=st.integers(0, 10**6),
    of=st.sampled_from([PRICED, UNPRICED, UNPRICED_WITHOUT_A_LIMIT_OF_THE_CELL]),
)
def test_no_limit_is_passed_by_any_number_of_workers_that_die_anywhere(
    tmp_path_factory: pytest.TempPathFactory,
    kept: tuple[Limit, ...],
    workers: int,
    deaths: list[tuple[int, int | None]],
    seed: int,
    of: Terms,
) -> None:
    path = tmp_path_factory.mktemp("run") / JOURNAL
    provider, finished = Provider(), set[str]()
    for attempt, (last, torn) in enumerate(lives(deaths)):
        ledger = read_ledger(path, kept)
        assert_not_less_than(ledger.settled, provider.charged)
        try:
            journal = MortalJournal(path, last, torn)
        except Killed:
            continue
        with Cancellation() as cancellation:
            spending = Spending(journal, ledger, rules(of), cancellation)
            cells = [
                session(f"t{number}", attempt=attempt) for number in range(20) if f"t{number}" not in finished
            ]
            finished |= set(run(spending, cells, provider, workers, seed))
        for limit in kept:
            assert limit.before + provider.charged.of(limit.unit) <= limit.most, limit
    assert_not_less_than(read_ledger(path, kept).settled, provider.charged)
    assert finished or kept or deaths


@settings(max_examples=40, deadline=None)
@given(
    wall=st.floats(1.0, 200.0),
    timeout=st.floats(1.0, 60.0),
    takes=st.lists(st.floats(0.0, 60.0), min_size=30, max_size=30),
    lost=st.lists(st.integers(1, 12), max_size=3),
)
def test_no_session_begins_after_the_end_or_may_outlive_it_over_all_processes(
    tmp_path_factory: pytest.TempPathFactory,
    wall: float,
    timeout: float,
    takes: list[float],
    lost: list[int],
) -> None:
    """Time is simulated: a process works until it is killed, and what it worked is what the next one has less."""
    path, worked = tmp_path_factory.mktemp("run") / JOURNAL, 0.0
    for number, until in enumerate([*lost, 30]):
        with Cancellation() as cancellation, pytest.MonkeyPatch.context() as clock:
            now = [1000.0 * number]
            clock.setattr("bench.spend.time_left.time.monotonic", lambda now=now: now[0])
            ends = ends_of(budget(wall=wall), worked)
            ruled = Rules(terms=free_of_prices(), timeout=timeout, ends=ends, prices="p")
            spending = Spending(Journal(path, "p", durable=False), read_ledger(path), ruled, cancellation)
            began = now[0]
            for each in range(until):
                allowance = spending.begin(session(f"p{number}-{each}"), NOTHING)
                if isinstance(allowance, Stop):
                    assert allowance.kind == "deadline"
                    break
                at = worked + now[0] - began
                assert at < wall
                assert allowance.seconds <= timeout
                assert at + allowance.seconds <= wall + 1e-6
                now[0] += min(takes[each], allowance.seconds)
                spending.end(allowance, use(1))
            worked += now[0] - began
    assert worked <= wall + 1e-6


def assert_not_less_than(settled: Amounts, charged: Amounts) -> None:
    """The ledger never believes that less was used than the provider charged."""
    assert settled.picodollars >= charged.picodollars
    assert settled.tokens >= charged.tokens
    assert settled.sessions >= charged.sessions


def test_a_session_that_would_fit_but_for_reservations_waits_and_then_starts(tmp_path: Path) -> None:
    kept = (Limit(scope="run", unit="usd", most=150),)
    with Cancellation() as cancellation:
        journal = Journal(tmp_path / JOURNAL, "p", durable=False)
        spending = Spending(journal, read_ledger(journal.path, kept), rules(free_of_prices()), cancellation)
        first = spending.begin(session("s"), NOTHING)
        assert isinstance(first, Allowance)
        with ThreadPoolExecutor() as threads:
            second = threads.submit(spending.begin, session("t"), NOTHING)
            spending.end(first, use(0, 20 / 10**12))
            assert isinstance(second.result(timeout=20), Allowance)
        assert spending.closed is None


def test_a_limit_that_is_reached_lets_no_new_cell_begin_and_keeps_the_reason(tmp_path: Path) -> None:
    kept = (Limit(scope="run", unit="usd", most=150),)
    with Cancellation() as cancellation:
        journal = Journal(tmp_path / JOURNAL, "p", durable=False)
        spending = Spending(journal, read_ledger(journal.path, kept), rules(free_of_prices()), cancellation)
        first = spending.begin(session("s"), NOTHING)
        assert isinstance(first, Allowance)
        spending.end(first, use(0, 60 / 10**12))
        stop = spending.begin(session("t"), NOTHING)
        assert isinstance(stop, Stop)
        assert stop.kind == "budget-exhausted"
        assert stop == spending.closed


def test_a_cell_that_has_begun_goes_on_after_the_limit_is_reached_if_it_fits(tmp_path: Path) -> None:
    kept = (Limit(scope="run", unit="usd", most=150),)
    with Cancellation() as cancellation:
        journal = Journal(tmp_path / JOURNAL, "p", durable=False)
        spending = Spending(journal, read_ledger(journal.path, kept), rules(free_of_prices()), cancellation)
        first = spending.begin(session("s"), NOTHING)
        assert isinstance(first, Allowance)
        before = spending.end(first, use(0, 60 / 10**12))
        assert isinstance(spending.begin(session("t"), NOTHING), Stop)
        second = spending.begin(session("s", name="second"), before)
        assert isinstance(second, Allowance)
        assert second.reserved.amounts.picodollars == 40


def test_a_report_above_the_reservation_counts_in_full_and_closes_the_purse(tmp_path: Path) -> None:
    with Cancellation() as cancellation:
        journal = Journal(tmp_path / JOURNAL, "p", durable=False)
        kept = (Limit(scope="run", unit="usd", most=1000),)
        spending = Spending(journal, read_ledger(journal.path, kept), rules(free_of_prices()), cancellation)
        first = spending.begin(session("s"), NOTHING)
        assert isinstance(first, Allowance)
        assert spending.end(first, use(0, 300 / 10**12)).picodollars == 300
        stop = spending.begin(session("s", name="second"), Amounts(sessions=1))
        assert isinstance(stop, Stop)
        assert "reports $0.0000000003 where $0.0000000001 were reserved" in stop.detail
        assert spending.account().arms["a"].over == 1


def test_a_budget_that_runs_out_after_a_cancellation_is_not_the_cause(tmp_path: Path) -> None:
    with Cancellation() as cancellation:
        journal = Journal(tmp_path / JOURNAL, "p", durable=False)
        kept = (Limit(scope="run", unit="usd", most=110),)
        spending = Spending(journal, read_ledger(journal.path, kept), rules(free_of_prices()), cancellation)
        first = spending.begin(session("s"), NOTHING)
        assert isinstance(first, Allowance)
        cancellation.cancel("SIGINT")
        spending.end(first, use(0, 300 / 10**12))
        stop = spending.begin(session("t"), NOTHING)
        assert isinstance(stop, Stop)
        assert stop.kind == "cancelled"
        assert spending.closed is None


def test_nobody_waits_for_ever_when_the_journal_cannot_be_written(tmp_path: Path) -> None:
    kept = (Limit(scope="run", unit="usd", most=150),)
    with Cancellation() as cancellation:
        journal = MortalJournal(tmp_path / JOURNAL, 3, 0)
        spending = Spending(journal, read_ledger(journal.path, kept), rules(free_of_prices()), cancellation)
        first = spending.begin(session("s"), NOTHING)
        assert isinstance(first, Allowance)
        with ThreadPoolExecutor() as threads:
            second = threads.submit(spending.begin, session("t"), NOTHING)
            with pytest.raises(Killed):
                spending.end(first, use(0, 20 / 10**12))
            assert isinstance(second.result(timeout=20), Stop)


def test_a_session_without_a_limit_reserves_nothing(tmp_path: Path) -> None:
    with Cancellation() as cancellation:
        journal = Journal(tmp_path / JOURNAL, "p", durable=False)
        unlimited = terms(usd=None, tokens=None, limited=frozenset(), price=None)
        spending = Spending(journal, read_ledger(journal.path), rules(unlimited), cancellation)
        allowance = spending.begin(session(), NOTHING)
        assert isinstance(allowance, Allowance)
        assert allowance.ceiling == Ceiling(usd=None, tokens=None)
        spending.end(allowance, use(complete=False))
        assert spending.account().unknown == 1

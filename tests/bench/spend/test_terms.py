"""What a session is counted as, and what is refused before anything is paid."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from spend_builders import PRICE, budget, session, terms, use

from bench.agents import Usage
from bench.config import BudgetConfig
from bench.errors import ConfigError
from bench.spend import (
    NOTHING,
    Amounts,
    Ceiling,
    Reserved,
    SessionUse,
    Settled,
    Terms,
    make_terms,
    picodollars,
    session_ceiling,
    settlement,
)


def settle(of: Terms, ceiling: Ceiling, used: SessionUse) -> Settled:
    return settlement(of, Reserved(id=1, session=session(), amounts=ceiling.amounts), ceiling, used)


def refusal(of: BudgetConfig, *, model: str | None = "m", price: Any = PRICE) -> str:
    with pytest.raises(ConfigError) as caught:
        make_terms(of, calls_model=True, model=model, price=price)
    return str(caught.value)


@pytest.mark.parametrize(
    ("limits", "key"),
    [
        (budget(usd=5.0), "budget.cell.usd"),
        (budget(tokens=5), "budget.cell.tokens"),
        (budget(campaign={"usd": 5.0}), "budget.cell.usd"),
        (budget(campaign={"tokens": 5}), "budget.cell.tokens"),
    ],
)
def test_a_limit_without_one_for_a_cell_is_refused_with_the_key_to_set(
    limits: BudgetConfig, key: str
) -> None:
    assert f"set {key}" in refusal(limits)


def test_a_limit_below_what_one_session_may_use_is_refused() -> None:
    assert "budget.usd=0.4 is less than one session may use" in refusal(budget(usd=0.4, cell={"usd": 0.5}))
    assert "budget.campaign.tokens=4 is less" in refusal(budget(campaign={"tokens": 4}, cell={"tokens": 5}))


def test_dollars_of_a_model_without_a_price_are_refused_unless_it_is_said_how_to_count_them() -> None:
    limited = budget(usd=5.0, cell={"usd": 0.5})
    assert "no price is known for 'm', and unknown is not zero" in refusal(limited, price=None)
    assert "model.id is null" in refusal(limited, model=None, price=None)
    made = make_terms(budget(usd=5.0, unpriced=0.5), calls_model=True, model="m", price=None)
    assert session_ceiling(made, NOTHING) == Ceiling(usd=picodollars(0.5), tokens=None)


def test_a_session_without_a_price_may_use_what_its_cell_may_and_that_is_reserved() -> None:
    limits = budget(usd=5.0, unpriced=0.5, cell={"usd": 2.0})
    made = make_terms(limits, calls_model=True, model="m", price=None)
    first = session_ceiling(made, NOTHING)
    assert first == Ceiling(usd=picodollars(2.0), tokens=None)
    assert session_ceiling(made, Amounts(picodollars=picodollars(1.25))) == Ceiling(
        usd=picodollars(0.75), tokens=None
    )
    assert session_ceiling(made, Amounts(picodollars=picodollars(1.75))) is None
    assert settle(made, first, use(cost=0.1)).amounts.picodollars == picodollars(0.5)
    assert settle(made, first, use(cost=1.9)).amounts.picodollars == picodollars(1.9)
    assert settle(made, first, use(cost=0.1, complete=False)).amounts.picodollars == picodollars(2.0)
    assert "budget.usd=1.0 is less than one session may use" in refusal(
        structs.replace(limits, usd=1.0), price=None
    )


def test_a_cell_that_cannot_pay_for_an_unpriced_session_is_refused() -> None:
    assert "raise budget.cell.usd" in refusal(budget(usd=5.0, unpriced=0.5, cell={"usd": 0.4}), price=None)


@pytest.mark.parametrize("limits", [budget(usd=1.0), budget(tokens=1), budget(sessions=1)])
def test_an_agent_that_calls_no_model_needs_no_ceiling_and_no_price(limits: BudgetConfig) -> None:
    made = make_terms(limits, calls_model=False, model=None, price=None)
    ceiling = session_ceiling(made, NOTHING)
    assert ceiling is not None
    assert ceiling.amounts == NOTHING
    entry = settle(made, ceiling, SessionUse(usage=Usage(turns=3), complete=True, seconds=2.0))
    assert (entry.amounts, entry.basis, entry.unknown, entry.over) == (
        Amounts(sessions=1),
        "declared",
        (),
        (),
    )


def test_an_agent_that_declares_no_model_but_reports_a_cost_is_over_its_reservation() -> None:
    made = make_terms(budget(usd=1.0), calls_model=False, model=None, price=None)
    ceiling = session_ceiling(made, NOTHING)
    assert ceiling is not None
    assert settle(made, ceiling, use(cost=0.25)).over == ("usd",)


@given(st.integers(0, 200), st.integers(0, 100))
def test_a_session_may_use_what_its_cell_has_left_and_none_starts_with_nothing(usd: int, tokens: int) -> None:
    ceiling = session_ceiling(terms(), Amounts(picodollars=usd, tokens=tokens, sessions=1))
    if usd >= 100 or tokens >= 50:
        assert ceiling is None
    else:
        assert ceiling == Ceiling(usd=100 - usd, tokens=50 - tokens)


@given(st.none() | st.integers(0, 10**6), st.none() | st.floats(0, 10**6), st.booleans(), st.booleans())
def test_a_session_never_counts_less_than_what_is_known_of_it(
    output: int | None, reported: float | None, complete: bool, limited: bool
) -> None:
    ceiling = Ceiling(usd=100, tokens=50) if limited else Ceiling(usd=None, tokens=None)
    known = Usage(input=0, cache_read=0, cache_write=0, output=output, cost_usd=reported, source="agent")
    entry = settle(terms(), ceiling, SessionUse(usage=known, complete=complete, seconds=1.0))
    if "usd" not in entry.unknown:
        assert entry.amounts.picodollars >= (0 if reported is None else picodollars(reported))
        assert entry.amounts.picodollars >= (output or 0) * 15 * 10**6
    if limited:
        assert entry.unknown == ()
        assert complete or entry.amounts.picodollars >= 100
        assert entry.over == tuple(
            unit
            for unit, most in (("usd", 100), ("tokens", 50))
            if entry.amounts.of(unit) > most  # type: ignore[arg-type]
        )


def test_unknown_is_not_zero_it_counts_at_the_ceiling_or_is_said_to_be_unknown() -> None:
    nothing_known = SessionUse(usage=Usage(), complete=True, seconds=1.0)
    at_ceiling = settle(terms(), Ceiling(usd=100, tokens=50), nothing_known)
    assert (at_ceiling.amounts.picodollars, at_ceiling.amounts.tokens, at_ceiling.basis) == (
        100,
        50,
        "ceiling",
    )
    unknown = settle(terms(), Ceiling(usd=None, tokens=None), nothing_known)
    assert (unknown.basis, unknown.unknown) == ("unknown", ("usd", "tokens"))


def test_a_reported_zero_is_a_zero() -> None:
    assert settle(terms(price=None), Ceiling(usd=100, tokens=50), use(cost=0.0)).amounts.picodollars == 0


def test_the_greater_of_the_report_and_the_table_counts() -> None:
    ceiling = Ceiling(usd=10**12, tokens=100)
    by_table = settle(terms(), ceiling, use(tokens=10, cost=0.0))
    assert (by_table.amounts.picodollars, by_table.basis) == (10 * 15 * 10**6, "prices")
    by_agent = settle(terms(), ceiling, use(tokens=10, cost=0.5))
    assert (by_agent.amounts.picodollars, by_agent.basis) == (5 * 10**11, "agent")

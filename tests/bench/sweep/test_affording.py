"""What a plan needs at the least never depends on luck, and a limit below it is named with both numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.arms import Cell
from bench.spend import NOTHING, Amounts, Limit, Terms
from bench.sweep import shortfalls
from bench.sweep.affording import least_need


def cells(twice: list[bool]) -> list[Cell]:
    return [
        Cell(index=index, task=f"t{index}", arm="a", role="incumbent", repeat=0, twice=each)
        for index, each in enumerate(twice)
    ]


def terms(unpriced: int | None = None, *, calls_model: bool = True) -> Terms:
    return Terms(
        calls_model=calls_model, price=None, unpriced=unpriced, usd=None, tokens=None, limited=frozenset()
    )


@given(st.lists(st.booleans()), st.none() | st.integers(0, 10**9))
def test_the_least_is_one_session_for_each_measurement_and_what_each_is_declared_to_cost(
    twice: list[bool], unpriced: int | None
) -> None:
    need = least_need(cells(twice), terms(unpriced))
    assert need.cells == len(twice)
    assert need.sessions == len(twice) + sum(twice)
    assert need.picodollars == need.sessions * (unpriced or 0)


def test_an_agent_that_calls_no_model_needs_no_money() -> None:
    assert least_need(cells([True]), terms(7, calls_model=False)).picodollars == 0


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_just_what_passes_a_limit_is_short(most: int, before: int, used: int, need: int) -> None:
    limit = Limit(scope="campaign", unit="sessions", most=most, before=before)
    short = shortfalls(Amounts(sessions=need), [limit], Amounts(sessions=used))
    assert bool(short) == (need > 0 and before + used + need > most)


@pytest.mark.parametrize(
    ("used", "rest"), [(NOTHING, ""), (Amounts(sessions=3), ", of which 3 sessions are used")]
)
def test_a_limit_that_is_too_low_is_named_with_what_is_needed_and_what_is_used(
    used: Amounts, rest: str
) -> None:
    limit = Limit(scope="run", unit="sessions", most=9)
    (said,) = shortfalls(Amounts(sessions=12), [limit], used)
    assert (
        said
        == f"the plan needs at least 12 sessions: more than the 9 sessions that budget.sessions allows{rest}"
    )

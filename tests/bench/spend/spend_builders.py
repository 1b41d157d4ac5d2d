"""Small budgets, terms and sessions for the tests of spending."""

from decimal import Decimal
from typing import Any

from bench.agents import Usage
from bench.config import BudgetConfig, CampaignBudget, CellBudget
from bench.spend import Amounts, Price, SessionName, SessionUse, Terms

PRICE = Price(
    input=Decimal(3),
    output=Decimal(15),
    cache_read=Decimal("0.3"),
    cache_write=Decimal("3.75"),
    cache_write_1h=Decimal(6),
    source="https://example.org/prices",
    date="2026-11-30",
)


def session(
    task: str = "t", arm: str = "a", attempt: int = 0, name: str = "work", repeat: int = 0
) -> SessionName:
    return SessionName(generation=1, task=task, arm=arm, repeat=repeat, attempt=attempt, session=name)


def terms(**changes: Any) -> Terms:
    """Of a model that costs: at most 100 picodollars and 50 tokens for one cell."""
    plain: dict[str, Any] = {
        "calls_model": True,
        "price": PRICE,
        "unpriced": None,
        "usd": 100,
        "tokens": 50,
        "limited": frozenset({"usd", "tokens"}),
    }
    return Terms(**{**plain, **changes})


def budget(
    cell: dict[str, Any] | None = None, campaign: dict[str, Any] | None = None, **caps: Any
) -> BudgetConfig:
    return BudgetConfig(cell=CellBudget(**(cell or {})), campaign=CampaignBudget(**(campaign or {})), **caps)


def usage(tokens: int = 0, cost: float | None = None) -> Usage:
    """Tokens of output only, every count known."""
    return Usage(input=0, cache_read=0, cache_write=0, output=tokens, cost_usd=cost, source="agent")


def use(
    tokens: int = 0, cost: float | None = None, *, complete: bool = True, seconds: float = 1.0
) -> SessionUse:
    return SessionUse(usage=usage(tokens, cost), complete=complete, seconds=seconds)


def amounts(usd: int = 0, tokens: int = 0) -> Amounts:
    return Amounts(picodollars=usd, tokens=tokens)

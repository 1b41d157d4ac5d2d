"""How one session is counted: the most that it may use, and what it did use. Pure."""

from typing import Literal

from msgspec import Struct

from bench.config import BudgetConfig
from bench.errors import ConfigError
from bench.measured import Charged, Usage
from bench.spend.ledger import Caps
from bench.spend.model import (
    Amounts,
    Basis,
    Reserved,
    Settled,
    Unit,
    dollars,
    picodollar_cap,
    picodollars,
)
from bench.spend.prices import Price, cost_of, tokens_of

Paid = Literal["usd", "tokens"]


class Terms(Struct, frozen=True, kw_only=True):
    """What sessions of this run cost. `usd` and `tokens` are the most for one cell, None without a limit;
    `unpriced` is what each session of a model without a price counts as, at the least. `limited` are the units that some limit
    of the run, the campaign or the cell is in: they are reserved.
    """

    calls_model: bool
    price: Price | None
    unpriced: int | None
    usd: int | None
    tokens: int | None
    limited: frozenset[Paid]


class Ceiling(Struct, frozen=True, kw_only=True):
    """The most that one session may use; None where nothing bounds it."""

    usd: int | None
    tokens: int | None

    @property
    def amounts(self) -> Amounts:
        """What is reserved for it."""
        return Amounts(picodollars=self.usd or 0, tokens=self.tokens or 0)


class SessionUse(Struct, frozen=True, kw_only=True):
    """What a session left to count. `complete` is false for one that was killed, timed out or broke: its usage may
    lack the last requests. `charged` is what the gateway charged, which is the whole, however it ended.
    """

    usage: Usage
    complete: bool
    seconds: float
    charged: Charged | None = None


def make_terms(budget: BudgetConfig, *, calls_model: bool, model: str | None, price: Price | None) -> Terms:
    """The terms of a run. ConfigError when a limit could not be kept, naming the key to set."""
    terms = Terms(
        calls_model=calls_model,
        price=price,
        unpriced=None if budget.unpriced is None else picodollars(budget.unpriced),
        usd=None if budget.cell.usd is None else picodollar_cap(budget.cell.usd),
        tokens=budget.cell.tokens,
        limited=_limited(budget),
    )
    if calls_model:
        _check_price(terms, model)
        _check_ceilings(terms, budget)
    return terms


def run_caps(budget: BudgetConfig) -> Caps:
    """The limits of the run."""
    return Caps(usd=budget.usd, cells=budget.cells, sessions=budget.sessions, tokens=budget.tokens)


def campaign_caps(budget: BudgetConfig) -> Caps:
    """The limits of all runs of the campaign together."""
    shared = budget.campaign
    return Caps(usd=shared.usd, cells=shared.cells, sessions=shared.sessions, tokens=shared.tokens)


def session_ceiling(terms: Terms, before: Amounts) -> Ceiling | None:
    """The most that a cell's next session may use after `before`; None if nothing is left to its cell."""
    if not terms.calls_model:
        return Ceiling(
            usd=0 if "usd" in terms.limited else None, tokens=0 if "tokens" in terms.limited else None
        )
    usd = _left(terms.usd, before.picodollars)
    tokens = _left(terms.tokens, before.tokens)
    declared = terms.unpriced if terms.price is None else None
    least = 1 if declared is None else declared
    if tokens == 0 or (usd is not None and usd < least):
        return None
    return Ceiling(usd=declared if usd is None else usd, tokens=tokens)


def settlement(terms: Terms, reserved: Reserved, ceiling: Ceiling, use: SessionUse) -> Settled:
    """What a session counts as. What nobody measured counts at its ceiling, never as nothing."""
    usd, basis = _cost(terms, ceiling, use)
    tokens = _tokens(terms, ceiling, use)
    measured: tuple[tuple[Unit, int | None], ...] = (("usd", usd), ("tokens", tokens))
    return Settled(
        id=reserved.id,
        amounts=Amounts(picodollars=usd or 0, tokens=tokens or 0, sessions=1, cells=reserved.amounts.cells),
        seconds=round(use.seconds, 3),
        basis=basis,
        unknown=tuple(unit for unit, amount in measured if amount is None),
        over=_over(ceiling, usd, tokens),
    )


def _cost(terms: Terms, ceiling: Ceiling, use: SessionUse) -> tuple[int | None, Basis]:
    """The cost and how it is known; of several numbers the greatest, because a report may cover a part only."""
    reported = None if use.usage.cost_usd is None else picodollars(use.usage.cost_usd)
    if not terms.calls_model:
        return reported or 0, "agent" if reported else "declared"
    if use.charged is not None and use.charged.picodollars is not None:
        return use.charged.picodollars, "gateway"
    if terms.price is None and terms.unpriced is not None:
        least = terms.unpriced if use.complete else ceiling.usd or terms.unpriced
        return max(least, reported or 0), "unpriced"
    computed = None if terms.price is None else cost_of(terms.price, use.usage)
    known = max((each for each in (reported, computed) if each is not None), default=None)
    if known is None or not use.complete:
        return _unmeasured(ceiling.usd, known)
    return known, "prices" if known == computed else "agent"


def _tokens(terms: Terms, ceiling: Ceiling, use: SessionUse) -> int | None:
    known = tokens_of(use.usage, terms.price)
    if not terms.calls_model:
        return known or 0
    if use.charged is not None:
        return use.charged.tokens
    return known if known is not None and use.complete else _unmeasured(ceiling.tokens, known)[0]


def _unmeasured(ceiling: int | None, known: int | None) -> tuple[int | None, Basis]:
    """What a session without a trustworthy number counts as."""
    if ceiling is None:
        return None, "unknown"
    return max(ceiling, known or 0), "ceiling"


def _over(ceiling: Ceiling, usd: int | None, tokens: int | None) -> tuple[Unit, ...]:
    pairs: tuple[tuple[Unit, int | None, int | None], ...] = (
        ("usd", usd, ceiling.usd),
        ("tokens", tokens, ceiling.tokens),
    )
    return tuple(unit for unit, used, most in pairs if used is not None and most is not None and used > most)


def _left(most: int | None, used: int) -> int | None:
    return None if most is None else max(0, most - used)


def _limited(budget: BudgetConfig) -> frozenset[Paid]:
    units: tuple[Paid, ...] = ("usd", "tokens")
    scopes = (budget, budget.cell, budget.campaign)
    return frozenset(unit for unit in units if any(getattr(scope, unit) is not None for scope in scopes))


def _check_price(terms: Terms, model: str | None) -> None:
    if "usd" not in terms.limited or terms.price is not None or terms.unpriced is not None:
        return
    named = (
        "the model is not named (model.id is null)" if model is None else f"no price is known for {model!r}"
    )
    raise ConfigError(
        f"a budget in dollars cannot be kept: {named}, and unknown is not zero\n"
        f"  add its price in conf/prices/, or say what each of its sessions counts as: budget.unpriced=0.50"
    )


def _check_ceilings(terms: Terms, budget: BudgetConfig) -> None:
    """A limit is kept by reserving the most that a cell may use: so that must be known, and fit."""
    declared = terms.unpriced if terms.price is None else None
    _check_ceiling("usd", declared if terms.usd is None else terms.usd, budget)
    _check_ceiling("tokens", terms.tokens, budget)
    if terms.usd is not None and declared is not None and declared > terms.usd:
        raise ConfigError(
            f"budget.cell.usd is {dollars(terms.usd)}, less than the {dollars(declared)} of budget.unpriced: "
            f"no session could start\n  raise budget.cell.usd"
        )


def _check_ceiling(unit: Paid, ceiling: int | None, budget: BudgetConfig) -> None:
    caps = {
        f"budget.{unit}": getattr(budget, unit),
        f"budget.campaign.{unit}": getattr(budget.campaign, unit),
    }
    for key, most in caps.items():
        if most is None:
            continue
        if ceiling is None:
            raise ConfigError(
                f"{key}={most} cannot be kept without a limit for one cell: a session reserves the most that its "
                f"cell may use before it starts\n  set budget.cell.{unit}"
            )
        if ceiling > (picodollar_cap(most) if unit == "usd" else most):
            raise ConfigError(
                f"{key}={most} is less than one session may use: none could start\n"
                f"  raise {key}, or lower budget.cell.{unit}"
            )

"""A purse with limits of its own: whatever a provider states, it never charges more than it was given. Pure."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from bench.gateway.model import Ceiling, TokenUsage
from bench.gateway.purse import Hold, Refused

_PICODOLLARS = 10**12


class Tariff(Protocol):
    """How a limit counts; whole numbers, so that sums are exact."""

    def ceiling(self, ceiling: Ceiling) -> int:
        """The most that a request can cost."""
        ...

    def cost(self, usage: TokenUsage) -> int | None:
        """What it did cost; None if something that it needs is unknown."""
        ...


class TokenTariff:
    """Counts tokens, cached ones included."""

    def ceiling(self, ceiling: Ceiling) -> int:
        """Input and output."""
        return ceiling.input_tokens + ceiling.output_tokens

    def cost(self, usage: TokenUsage) -> int | None:
        """Input and output."""
        if usage.total_input is None or usage.output is None:
            return None
        return usage.total_input + usage.output


class Rates(Struct, frozen=True, kw_only=True):
    """A tariff in money: what one token of each kind costs, in a unit so small that it is whole. None: the provider
    has no such thing, and a usage that states some of it has an unknown cost.
    """

    input: int
    output: int
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_hour: int | None = None

    def ceiling(self, ceiling: Ceiling) -> int:
        """Every input token as the dearest kind."""
        kinds = (self.input, self.cache_read, self.cache_write, self.cache_write_hour)
        dearest = max(rate for rate in kinds if rate is not None)
        return ceiling.input_tokens * dearest + ceiling.output_tokens * self.output

    def cost(self, usage: TokenUsage) -> int | None:
        """The sum of all kinds. A cache write of unknown duration costs the dearest rate."""
        hour = usage.cache_write_hour
        split = hour is not None and usage.cache_write is not None and hour <= usage.cache_write
        writes = (
            ((hour, self.cache_write_hour), (_minus(usage.cache_write, hour), self.cache_write))
            if split
            else ((usage.cache_write, _dearest(self.cache_write, self.cache_write_hour)),)
        )
        parts = (
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            *writes,
        )
        costs = [_times(tokens, rate) for tokens, rate in parts]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


class Limit(Struct, frozen=True):
    """The most of one unit, as the tariff counts it. `name` is what a refusal calls it."""

    name: str
    most: int
    tariff: Tariff

    def shown(self, amount: int) -> str:
        """An amount for people: picodollars in dollars, anything else as it is counted."""
        return f"${amount / _PICODOLLARS:.4f}" if self.name.endswith("usd") else str(amount)


class Allowance:
    """Pays up to its limits. Settled and held amounts together never pass one of them: what nobody measured, and
    what a provider states beyond its ceiling, is charged at the ceiling.
    """

    def __init__(self, limits: Sequence[Limit]) -> None:
        self._limits = tuple(limits)
        self._held = [0] * len(self._limits)
        self._settled = [0] * len(self._limits)

    @property
    def settled(self) -> dict[str, int]:
        """What was charged, by the limits' names."""
        return {limit.name: amount for limit, amount in zip(self._limits, self._settled, strict=True)}

    @property
    def held(self) -> dict[str, int]:
        """What is held back for requests that are under way."""
        return {limit.name: amount for limit, amount in zip(self._limits, self._held, strict=True)}

    def reserve(self, ceiling: Ceiling) -> Hold | Refused:
        """Hold the ceiling of one request, under every limit or under none."""
        amounts = [limit.tariff.ceiling(ceiling) for limit in self._limits]
        for limit, amount, held, settled in zip(
            self._limits, amounts, self._held, self._settled, strict=True
        ):
            if held + settled + amount > limit.most:
                used, free = limit.shown(settled), limit.shown(held)
                return Refused(
                    f"the budget is exhausted: {limit.name} is {limit.shown(limit.most)}, {used} are used and "
                    f"{free} held, and this request may cost {limit.shown(amount)}"
                )
        self._held = [held + amount for held, amount in zip(self._held, amounts, strict=True)]
        return _Held(self, amounts)

    def settle(self, amounts: Sequence[int], usage: TokenUsage | None) -> None:
        """Free what was held, and charge what was used."""
        for number, (limit, most) in enumerate(zip(self._limits, amounts, strict=True)):
            cost = None if usage is None else limit.tariff.cost(usage)
            self._held[number] -= most
            self._settled[number] += most if cost is None else min(cost, most)


class _Held:
    def __init__(self, allowance: Allowance, amounts: Sequence[int]) -> None:
        self._allowance, self._amounts = allowance, amounts

    def settle(self, usage: TokenUsage | None) -> None:
        self._allowance.settle(self._amounts, usage)


def _times(tokens: int | None, rate: int | None) -> int | None:
    if tokens is None:
        return None
    return (None if tokens else 0) if rate is None else tokens * rate


def _minus(whole: int | None, part: int | None) -> int | None:
    return None if whole is None or part is None else whole - part


def _dearest(*rates: int | None) -> int | None:
    return max((rate for rate in rates if rate is not None), default=None)

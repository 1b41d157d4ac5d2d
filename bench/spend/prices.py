"""What models cost: the price table as data, and the exact cost of a usage. Pure."""

from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct, structs

from bench.digest import digest_json
from bench.measured import Usage

PER_TOKEN = 10**6  # picodollars per token, of a dollar per million tokens


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model's prices in dollars per million tokens; null for what the provider does not have.

    `source` and `date` say where and when they were read; `context` and `max_output` are in tokens.
    """

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    cache_write_1h: Decimal | None = None
    max_output: int | None = None
    context: int | None = None
    source: str
    date: str

    @property
    def dearest_write(self) -> Decimal | None:
        """A usage does not say for how long a token was cached: the dearest rate is never too little."""
        rates = [rate for rate in (self.cache_write, self.cache_write_1h) if rate is not None]
        return max(rates, default=None)


class PriceTable(Struct, frozen=True, kw_only=True):
    """Every known price by the exact model id, and the versions of the files that it was read from."""

    version: tuple[str, ...]
    models: Mapping[str, Price]

    @property
    def digest(self) -> str:
        """The identity of the prices, whatever files they stand in."""
        return digest_json(
            {
                name: {key: _text(value) for key, value in structs.asdict(price).items()}
                for name, price in self.models.items()
            }
        )

    def find(self, model: str | None) -> Price | None:
        """The price of exactly this id. One that is not here is unknown: no other model's price stands for it."""
        return None if model is None else self.models.get(model)


def cost_of(price: Price, usage: Usage) -> int | None:
    """The cost in picodollars; None when a number that it needs is unknown, or has no price."""
    parts = (
        (usage.input, price.input),
        (usage.output, price.output),
        (usage.cache_read, price.cache_read),
        (usage.cache_write, price.dearest_write),
    )
    costs = [_part(count, rate) for count, rate in parts]
    return None if any(cost is None for cost in costs) else sum(cost for cost in costs if cost is not None)


def tokens_of(usage: Usage, price: Price | None = None) -> int | None:
    """All tokens, cached ones included; None when one of the counts is unknown.

    A count that the model's provider does not have, by its price, may be missing.
    """
    optional = set()
    if price is not None:
        optional = {
            name
            for name, rate in (("cache_read", price.cache_read), ("cache_write", price.dearest_write))
            if rate is None
        }
    total = 0
    for name in ("input", "output", "cache_read", "cache_write"):
        count: int | None = getattr(usage, name)
        if count is None and name not in optional:
            return None
        total += count or 0
    return total


def rates_of(price: Price) -> dict[str, int | None]:
    """The prices in picodollars per token, by the kinds of tokens that the gateway counts."""
    kinds = {
        "input": price.input,
        "output": price.output,
        "cache_read": price.cache_read,
        "cache_write": price.cache_write,
        "cache_write_hour": price.cache_write_1h,
    }
    return {kind: None if rate is None else per_token(rate) for kind, rate in kinds.items()}


def per_token(rate: Decimal) -> int:
    """A price in picodollars per token. ValueError for one with more than six decimals."""
    exact = rate * PER_TOKEN
    if exact < 0 or exact != exact.to_integral_value():
        raise ValueError(f"{rate} dollars per million tokens is negative, or has more than six decimals")
    return int(exact)


def _part(count: int | None, rate: Decimal | None) -> int | None:
    """None where the count is unknown, or where tokens are counted that have no price."""
    if rate is None:
        return None if count else 0
    return None if count is None else count * per_token(rate)


def _text(value: object) -> str | int | None:
    return str(value.normalize()) if isinstance(value, Decimal) else value  # type: ignore[return-value]

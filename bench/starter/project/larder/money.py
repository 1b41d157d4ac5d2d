"""Exact amounts of money: whole minor units, never binary fractions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

from larder.errors import CurrencyMismatch, ParseError, ValidationError

MINOR_DIGITS = {"EUR": 2, "USD": 2, "GBP": 2, "CHF": 2, "SEK": 2, "JPY": 0}
_AMOUNT = re.compile(r"^\s*(?P<sign>-?)(?P<digits>\d+(?:[.,]\d+)?)\s*(?P<currency>[A-Z]{3})\s*$")


def minor_digits(currency: str) -> int:
    """How many digits the currency has behind the point."""
    try:
        return MINOR_DIGITS[currency]
    except KeyError as error:
        raise ValidationError(f"unknown currency {currency!r}") from error


@dataclass(frozen=True)
class Money:
    """An amount in minor units (cents) of one currency."""

    minor: int
    currency: str = "EUR"

    def __post_init__(self) -> None:
        minor_digits(self.currency)

    @classmethod
    def of(cls, amount: Decimal | int | str, currency: str = "EUR") -> Money:
        """An amount in major units; more digits than the currency has are refused."""
        try:
            exact = Decimal(amount)
        except InvalidOperation as error:
            raise ParseError(f"{amount!r} is not an amount") from error
        scaled = exact.scaleb(minor_digits(currency))
        if scaled != scaled.to_integral_value():
            raise ValidationError(f"{amount} has too many digits for {currency}")
        return cls(int(scaled), currency)

    @classmethod
    def parse(cls, text: str) -> Money:
        """Read text such as `12.50 EUR` or `-3,20 CHF`."""
        match = _AMOUNT.match(text)
        if match is None:
            raise ParseError(f"{text!r} is not an amount with a currency")
        digits = match["digits"].replace(",", ".")
        return cls.of(match["sign"] + digits, match["currency"])

    @classmethod
    def zero(cls, currency: str = "EUR") -> Money:
        return cls(0, currency)

    @property
    def major(self) -> Decimal:
        """The amount in major units, exactly."""
        return Decimal(self.minor).scaleb(-minor_digits(self.currency))

    def __str__(self) -> str:
        return f"{self.major:.{minor_digits(self.currency)}f} {self.currency}"

    def __bool__(self) -> bool:
        return self.minor != 0

    def __add__(self, other: Money) -> Money:
        self._require_same(other)
        return Money(self.minor + other.minor, self.currency)

    def __sub__(self, other: Money) -> Money:
        self._require_same(other)
        return Money(self.minor - other.minor, self.currency)

    def __neg__(self) -> Money:
        return Money(-self.minor, self.currency)

    def __lt__(self, other: Money) -> bool:
        self._require_same(other)
        return self.minor < other.minor

    def __le__(self, other: Money) -> bool:
        self._require_same(other)
        return self.minor <= other.minor

    def times(self, factor: Decimal | int) -> Money:
        """The amount multiplied and rounded half to even, once."""
        product = Decimal(self.minor) * Decimal(factor)
        return Money(int(product.quantize(Decimal(1), ROUND_HALF_EVEN)), self.currency)

    def percent(self, rate: Decimal | int) -> Money:
        """`rate` per cent of the amount."""
        return self.times(Decimal(rate) / 100)

    def allocate(self, weights: Sequence[int]) -> list[Money]:
        """Split by weight without losing a cent; the remainder goes to the largest fractions."""
        total = sum(weights)
        if total <= 0 or min(weights) < 0:
            raise ValidationError("weights must be non-negative and not all zero")
        shares = [self.minor * weight // total for weight in weights]
        fractions = [self.minor * weight % total for weight in weights]
        by_fraction = sorted(range(len(weights)), key=lambda index: (-fractions[index], index))
        for index in by_fraction[: self.minor - sum(shares)]:
            shares[index] += 1
        return [Money(share, self.currency) for share in shares]

    def _require_same(self, other: Money) -> None:
        if self.currency != other.currency:
            raise CurrencyMismatch(self.currency, other.currency)


def total(amounts: Iterable[Money], currency: str = "EUR") -> Money:
    """The sum; of nothing it is zero in `currency`."""
    result: Money | None = None
    for amount in amounts:
        result = amount if result is None else result + amount
    return Money.zero(currency) if result is None else result

"""Quantities with units that convert exactly within one dimension."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from larder.errors import ParseError, UnitMismatch, ValidationError

_QUANTITY = re.compile(r"^\s*(?P<amount>-?\d+(?:[.,]\d+)?)\s*(?P<unit>[a-z]+)\s*$")


class Dimension(Enum):
    """What a unit measures."""

    MASS = "mass"
    VOLUME = "volume"
    COUNT = "count"


class Unit(Enum):
    """A unit: its symbol, what it measures and its size in the smallest unit."""

    GRAM = ("g", Dimension.MASS, Decimal(1))
    KILOGRAM = ("kg", Dimension.MASS, Decimal(1000))
    MILLILITRE = ("ml", Dimension.VOLUME, Decimal(1))
    LITRE = ("l", Dimension.VOLUME, Decimal(1000))
    PIECE = ("pc", Dimension.COUNT, Decimal(1))
    DOZEN = ("doz", Dimension.COUNT, Decimal(12))

    def __init__(self, symbol: str, dimension: Dimension, size: Decimal) -> None:
        self.symbol = symbol
        self.dimension = dimension
        self.size = size

    @classmethod
    def from_symbol(cls, symbol: str) -> Unit:
        for unit in cls:
            if unit.symbol == symbol:
                return unit
        raise ParseError(f"unknown unit {symbol!r}")


@dataclass(frozen=True)
class Quantity:
    """An exact amount of something in one unit."""

    amount: Decimal
    unit: Unit

    @classmethod
    def of(cls, amount: Decimal | int | str, symbol: str) -> Quantity:
        return cls(Decimal(amount), Unit.from_symbol(symbol))

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Read text such as `2.5 kg` or `12 pc`."""
        match = _QUANTITY.match(text)
        if match is None:
            raise ParseError(f"{text!r} is not a quantity")
        return cls.of(match["amount"].replace(",", "."), match["unit"])

    @classmethod
    def zero(cls, unit: Unit) -> Quantity:
        return cls(Decimal(0), unit)

    @property
    def base(self) -> Decimal:
        """The amount in the smallest unit of the dimension."""
        return self.amount * self.unit.size

    @property
    def is_positive(self) -> bool:
        return self.amount > 0

    def to(self, unit: Unit) -> Quantity:
        """The same quantity in another unit of the same dimension."""
        if unit.dimension is not self.unit.dimension:
            raise UnitMismatch(self.unit.symbol, unit.symbol)
        return Quantity(self.base / unit.size, unit)

    def __str__(self) -> str:
        return f"{plain(self.amount)} {self.unit.symbol}"

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.amount + other.to(self.unit).amount, self.unit)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.amount - other.to(self.unit).amount, self.unit)

    def __lt__(self, other: Quantity) -> bool:
        return self.base < other.to(self.unit).base

    def __le__(self, other: Quantity) -> bool:
        return self.base <= other.to(self.unit).base

    def times(self, factor: Decimal | int) -> Quantity:
        return Quantity(self.amount * Decimal(factor), self.unit)


def plain(amount: Decimal) -> str:
    """Decimal text without an exponent and without trailing zeros."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def total(quantities: Iterable[Quantity], unit: Unit) -> Quantity:
    """The sum in `unit`."""
    result = Quantity.zero(unit)
    for quantity in quantities:
        result += quantity
    return result


def smallest(left: Quantity, right: Quantity) -> Quantity:
    """The smaller one, in the unit of `left`."""
    return left if left <= right else right.to(left.unit)


def require_positive(quantity: Quantity, what: str) -> Quantity:
    """The quantity itself; zero and less are refused."""
    if not quantity.is_positive:
        raise ValidationError(f"{what} must be more than nothing, not {quantity}")
    return quantity

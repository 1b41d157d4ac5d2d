"""A small shop to test with."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from larder.catalog import Catalog, Product
from larder.clock import FixedClock
from larder.events import EventBus
from larder.money import Money
from larder.orders import OrderBook
from larder.pricing import PriceBook
from larder.quantity import Quantity, Unit
from larder.stock import Stock

MONDAY = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def products() -> list[Product]:
    return [
        Product("VEG-0001", "Carrots", "vegetables", Unit.KILOGRAM, Money(240), shelf_life_days=10),
        Product("VEG-0002", "Baby spinach", "vegetables", Unit.GRAM, Money(2), shelf_life_days=4),
        Product("DRY-0001", "Red lentils", "dry goods", Unit.KILOGRAM, Money(350)),
        Product("EGG-0001", "Eggs", "dairy and eggs", Unit.PIECE, Money(35), shelf_life_days=21),
    ]


class Shop:
    """Catalog, shelves, prices and orders that belong together."""

    def __init__(self) -> None:
        self.clock = FixedClock(MONDAY)
        self.catalog = Catalog(iter(products()))
        self.stock = Stock(self.catalog, self.clock)
        self.bus = EventBus()
        self.prices = PriceBook(self.catalog)
        self.orders = OrderBook(self.stock, self.prices, self.bus, self.clock)


def kilograms(amount: str) -> Quantity:
    return Quantity(Decimal(amount), Unit.KILOGRAM)


def pieces(amount: int) -> Quantity:
    return Quantity(Decimal(amount), Unit.PIECE)

"""Stock, orders and prices of a small food shop, with nothing but the standard library."""

from larder.catalog import Catalog, Product
from larder.clock import Clock, FixedClock, SystemClock
from larder.config import Settings
from larder.errors import LarderError
from larder.events import Event, EventBus
from larder.money import Money
from larder.orders import Order, OrderBook, OrderLine, OrderState
from larder.pricing import PriceBook, Quote
from larder.quantity import Quantity, Unit
from larder.stock import Batch, Stock
from larder.storage import Database

__all__ = [
    "Batch",
    "Catalog",
    "Clock",
    "Database",
    "Event",
    "EventBus",
    "FixedClock",
    "LarderError",
    "Money",
    "Order",
    "OrderBook",
    "OrderLine",
    "OrderState",
    "PriceBook",
    "Product",
    "Quantity",
    "Quote",
    "Settings",
    "Stock",
    "SystemClock",
    "Unit",
]

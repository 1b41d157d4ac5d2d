"""Orders: lines, a small state machine and the book that holds them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum

from larder.clock import Clock
from larder.errors import InvalidTransition, NotFound, ValidationError
from larder.events import Event, EventBus
from larder.pricing import PriceBook, Quote
from larder.quantity import Quantity, require_positive
from larder.stock import Stock


class OrderState(Enum):
    """Where an order is."""

    DRAFT = "draft"
    CONFIRMED = "confirmed"
    PACKED = "packed"
    DELIVERED = "delivered"
    CANCELLED = "cancelled"


FOLLOWING: dict[OrderState, frozenset[OrderState]] = {
    OrderState.DRAFT: frozenset({OrderState.CONFIRMED, OrderState.CANCELLED}),
    OrderState.CONFIRMED: frozenset({OrderState.PACKED, OrderState.CANCELLED}),
    OrderState.PACKED: frozenset({OrderState.DELIVERED}),
    OrderState.DELIVERED: frozenset(),
    OrderState.CANCELLED: frozenset(),
}


@dataclass(frozen=True)
class OrderLine:
    """How much of which product."""

    sku: str
    quantity: Quantity

    def __post_init__(self) -> None:
        require_positive(self.quantity, f"the quantity of {self.sku}")


@dataclass(frozen=True)
class Order:
    """What one customer wants; `changed_at` is when the state last changed."""

    order_id: str
    customer: str
    lines: tuple[OrderLine, ...]
    placed_at: datetime
    changed_at: datetime
    state: OrderState = OrderState.DRAFT
    note: str = ""
    history: tuple[tuple[OrderState, datetime], ...] = field(default=())

    def moved(self, state: OrderState, at: datetime) -> Order:
        """The order in a following state."""
        if state not in FOLLOWING[self.state]:
            raise InvalidTransition(self.order_id, self.state.value, state.value)
        history = (*self.history, (self.state, self.changed_at))
        return replace(self, state=state, changed_at=at, history=history)

    @property
    def open(self) -> bool:
        return bool(FOLLOWING[self.state])


class OrderBook:
    """All orders of a shop and the stock that they hold."""

    def __init__(self, stock: Stock, prices: PriceBook, bus: EventBus, clock: Clock) -> None:
        self._stock = stock
        self._prices = prices
        self._bus = bus
        self._clock = clock
        self._orders: dict[str, Order] = {}
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        return len(self._orders)

    def __iter__(self) -> Iterator[Order]:
        return iter(self._orders.values())

    def get(self, order_id: str) -> Order:
        try:
            return self._orders[order_id]
        except KeyError as error:
            raise NotFound("order", order_id) from error

    def place(self, customer: str, lines: Sequence[OrderLine], note: str = "") -> Order:
        """Write down a new draft; nothing is reserved yet."""
        if not customer.strip():
            raise ValidationError("an order needs a customer")
        if not lines:
            raise ValidationError("an order needs at least one line")
        now = self._clock.now()
        order = Order(
            order_id=f"{now:%Y%m%d}-{next(self._numbers):04d}",
            customer=customer.strip(),
            lines=tuple(merged(lines)),
            placed_at=now,
            changed_at=now,
            note=note,
        )
        self._orders[order.order_id] = order
        self._announce("order.placed", order)
        return order

    def confirm(self, order_id: str) -> Order:
        """Reserve every line, or none of them."""
        order = self.get(order_id)
        confirmed = order.moved(OrderState.CONFIRMED, self._clock.now())
        try:
            for line in order.lines:
                self._stock.reserve(order_id, line.sku, line.quantity)
        except Exception:
            self._stock.release(order_id)
            raise
        return self._keep("order.confirmed", confirmed)

    def pack(self, order_id: str) -> Order:
        """Take the goods off the shelf."""
        packed = self.get(order_id).moved(OrderState.PACKED, self._clock.now())
        # A batch may have expired since it was reserved: look at every line before taking any.
        for line in packed.lines:
            self._stock.pick(line.sku, line.quantity)
        for line in packed.lines:
            self._stock.sell(order_id, line.sku, line.quantity)
        return self._keep("order.packed", packed)

    def deliver(self, order_id: str) -> Order:
        delivered = self.get(order_id).moved(OrderState.DELIVERED, self._clock.now())
        return self._keep("order.delivered", delivered)

    def cancel(self, order_id: str) -> Order:
        """Give up an order and release what it held."""
        cancelled = self.get(order_id).moved(OrderState.CANCELLED, self._clock.now())
        self._stock.release(order_id)
        return self._keep("order.cancelled", cancelled)

    def quote(self, order_id: str) -> Quote:
        order = self.get(order_id)
        return self._prices.quote([(line.sku, line.quantity) for line in order.lines])

    def in_state(self, state: OrderState) -> list[Order]:
        """Orders in one state, the oldest first."""
        found = [order for order in self._orders.values() if order.state is state]
        return sorted(found, key=lambda order: (order.placed_at, order.order_id))

    def _keep(self, name: str, order: Order) -> Order:
        self._orders[order.order_id] = order
        self._announce(name, order)
        return order

    def _announce(self, name: str, order: Order) -> None:
        payload = {"order": order.order_id, "customer": order.customer}
        self._bus.publish(Event(name, payload, self._clock.now()))


def merged(lines: Sequence[OrderLine]) -> list[OrderLine]:
    """One line per product, in the order of first mention."""
    quantities: dict[str, Quantity] = {}
    for line in lines:
        known = quantities.get(line.sku)
        quantities[line.sku] = line.quantity if known is None else known + line.quantity
    return [OrderLine(sku, quantity) for sku, quantity in quantities.items()]

"""What is on the shelves: batches, reservations and every movement between."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import Enum

from larder.catalog import Catalog, Product
from larder.clock import Clock
from larder.errors import Conflict, InsufficientStock, NotFound
from larder.quantity import Quantity, require_positive, smallest, total


class Reason(Enum):
    """Why stock moved."""

    RECEIVED = "received"
    SOLD = "sold"
    SPOILED = "spoiled"
    COUNTED = "counted"


@dataclass(frozen=True)
class Batch:
    """What arrived of one product in one delivery and is still there."""

    batch_id: str
    sku: str
    quantity: Quantity
    received_at: datetime
    expires_on: date | None

    def expired(self, today: date) -> bool:
        return self.expires_on is not None and self.expires_on < today


@dataclass(frozen=True)
class Movement:
    """A change of one batch; negative quantities leave the shelf."""

    batch_id: str
    sku: str
    quantity: Quantity
    reason: Reason
    at: datetime


@dataclass(frozen=True)
class Pick:
    """How much to take from which batch."""

    batch_id: str
    quantity: Quantity


class Stock:
    """The shelves of one shop."""

    def __init__(self, catalog: Catalog, clock: Clock) -> None:
        self._catalog = catalog
        self._clock = clock
        self._batches: dict[str, Batch] = {}
        self._reserved: dict[str, dict[str, Quantity]] = defaultdict(dict)
        self._movements: list[Movement] = []

    @property
    def movements(self) -> tuple[Movement, ...]:
        return tuple(self._movements)

    def batches(self, sku: str) -> list[Batch]:
        """Batches of a product, the first to expire first."""
        own = [batch for batch in self._batches.values() if batch.sku == sku]
        return sorted(own, key=shelf_order)

    def receive(self, batch_id: str, sku: str, quantity: Quantity) -> Batch:
        """Put a delivery on the shelf; the expiry follows from the shelf life."""
        if batch_id in self._batches:
            raise Conflict(f"batch {batch_id} was already received")
        product = self._catalog.get(sku)
        now = self._clock.now()
        batch = Batch(
            batch_id=batch_id,
            sku=sku,
            quantity=require_positive(quantity, "a delivery").to(product.unit),
            received_at=now,
            expires_on=expiry(product, now.date()),
        )
        self._batches[batch_id] = batch
        self._record(batch, batch.quantity, Reason.RECEIVED)
        return batch

    def on_hand(self, sku: str) -> Quantity:
        """Everything on the shelf, reserved or not, expired or not."""
        unit = self._catalog.get(sku).unit
        return total((batch.quantity for batch in self.batches(sku)), unit)

    def sellable(self, sku: str) -> Quantity:
        """What is on the shelf and has not expired."""
        today = self._clock.now().date()
        unit = self._catalog.get(sku).unit
        fresh = (batch.quantity for batch in self.batches(sku) if not batch.expired(today))
        return total(fresh, unit)

    def reserved(self, sku: str) -> Quantity:
        unit = self._catalog.get(sku).unit
        return total(self._reserved[sku].values(), unit)

    def available(self, sku: str) -> Quantity:
        """What can still be promised to a new order."""
        return self.sellable(sku) - self.reserved(sku)

    def reserve(self, order_id: str, sku: str, quantity: Quantity) -> None:
        """Promise a quantity to an order, in addition to what it already holds."""
        wanted = require_positive(quantity, "a reservation").to(self._catalog.get(sku).unit)
        available = self.available(sku)
        if available < wanted:
            raise InsufficientStock(sku, str(wanted), str(available))
        held = self._reserved[sku].get(order_id)
        self._reserved[sku][order_id] = wanted if held is None else held + wanted

    def release(self, order_id: str) -> None:
        """Give back whatever the order still holds."""
        for holders in self._reserved.values():
            holders.pop(order_id, None)

    def pick(self, sku: str, quantity: Quantity) -> list[Pick]:
        """Which batches to take a quantity from, the first to expire first."""
        today = self._clock.now().date()
        missing = quantity.to(self._catalog.get(sku).unit)
        picks: list[Pick] = []
        for batch in self.batches(sku):
            if not missing.is_positive:
                break
            if batch.expired(today):
                continue
            taken = smallest(missing, batch.quantity)
            picks.append(Pick(batch.batch_id, taken))
            missing -= taken
        if missing.is_positive:
            raise InsufficientStock(sku, str(quantity), str(self.sellable(sku)))
        return picks

    def sell(self, order_id: str, sku: str, quantity: Quantity) -> list[Pick]:
        """Take reserved goods off the shelf and end the reservation."""
        picks = self.pick(sku, quantity)
        for chosen in picks:
            self._take(chosen.batch_id, chosen.quantity, Reason.SOLD)
        self._reserved[sku].pop(order_id, None)
        return picks

    def write_off_expired(self) -> list[Movement]:
        """Remove every expired batch and return what was removed."""
        today = self._clock.now().date()
        expired = [batch for batch in self._batches.values() if batch.expired(today)]
        return [self._take(batch.batch_id, batch.quantity, Reason.SPOILED) for batch in expired]

    def count(self, batch_id: str, counted: Quantity) -> Movement | None:
        """Correct a batch to what was counted; None when it was right."""
        batch = self._batch(batch_id)
        difference = counted.to(batch.quantity.unit) - batch.quantity
        if difference.amount == 0:
            return None
        return self._take(batch_id, difference.times(-1), Reason.COUNTED)

    def expiring_within(self, days: int) -> list[Batch]:
        """Batches that expire today or in the next `days` days, soonest first."""
        today = self._clock.now().date()
        last = today + timedelta(days=days)
        soon = [
            batch
            for batch in self._batches.values()
            if batch.expires_on is not None and today <= batch.expires_on <= last
        ]
        return sorted(soon, key=shelf_order)

    def history(self, sku: str) -> Iterator[Movement]:
        """Movements of one product in the order in which they happened."""
        return (movement for movement in self._movements if movement.sku == sku)

    def _batch(self, batch_id: str) -> Batch:
        try:
            return self._batches[batch_id]
        except KeyError as error:
            raise NotFound("batch", batch_id) from error

    def _take(self, batch_id: str, quantity: Quantity, reason: Reason) -> Movement:
        batch = self._batch(batch_id)
        left = batch.quantity - quantity
        if left.amount < 0:
            raise InsufficientStock(batch.sku, str(quantity), str(batch.quantity))
        if left.is_positive:
            self._batches[batch_id] = replace(batch, quantity=left)
        else:
            del self._batches[batch_id]
        return self._record(batch, quantity.times(-1), reason)

    def _record(self, batch: Batch, quantity: Quantity, reason: Reason) -> Movement:
        movement = Movement(batch.batch_id, batch.sku, quantity, reason, self._clock.now())
        self._movements.append(movement)
        return movement


def expiry(product: Product, received: date) -> date | None:
    """The last day on which a delivery of that day may be sold."""
    if product.shelf_life_days is None:
        return None
    return received + timedelta(days=product.shelf_life_days)


def shelf_order(batch: Batch) -> tuple[date, datetime, str]:
    """First to expire first; what keeps for ever comes last."""
    return (batch.expires_on or date.max, batch.received_at, batch.batch_id)

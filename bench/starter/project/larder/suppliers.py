"""Who sells what to the shop, and what to order from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from larder.catalog import Catalog, Product
from larder.errors import Conflict, NotFound, ValidationError
from larder.money import Money, total
from larder.quantity import Quantity
from larder.stock import Stock


@dataclass(frozen=True)
class Supplier:
    """A business that delivers; `minimum` is the smallest order it accepts."""

    name: str
    email: str
    lead_days: int
    minimum: Money

    def __post_init__(self) -> None:
        if "@" not in self.email:
            raise ValidationError(f"{self.email!r} is not an e-mail address")
        if self.lead_days < 0:
            raise ValidationError("a delivery cannot arrive before it was ordered")


@dataclass(frozen=True)
class Offer:
    """A product from a supplier, sold in packs of a fixed size."""

    supplier: str
    sku: str
    pack: Quantity
    price: Money

    def packs_for(self, wanted: Quantity) -> int:
        """How many packs cover a quantity."""
        return math.ceil(wanted.base / self.pack.to(wanted.unit).base)

    def price_per(self, product: Product) -> Decimal:
        """Price of one unit of the product in minor units, not rounded."""
        return Decimal(self.price.minor) / self.pack.to(product.unit).amount


@dataclass(frozen=True)
class ReorderRule:
    """Order when less than `low` is available, up to `target`."""

    sku: str
    low: Quantity
    target: Quantity

    def __post_init__(self) -> None:
        if self.target < self.low:
            raise ValidationError(f"{self.sku}: the target is below the reorder level")

    def shortage(self, available: Quantity) -> Quantity | None:
        """How much to order, or None when there is enough."""
        if self.low <= available:
            return None
        return self.target - available


@dataclass(frozen=True)
class ProposedLine:
    """So many packs of an offer."""

    offer: Offer
    packs: int

    @property
    def cost(self) -> Money:
        return self.offer.price.times(self.packs)


@dataclass(frozen=True)
class Proposal:
    """What to order from one supplier."""

    supplier: Supplier
    lines: tuple[ProposedLine, ...]

    @property
    def cost(self) -> Money:
        return total((line.cost for line in self.lines), self.supplier.minimum.currency)

    @property
    def acceptable(self) -> bool:
        """Whether the supplier's minimum is reached."""
        return self.supplier.minimum <= self.cost


class SupplierDirectory:
    """Suppliers and their offers."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._suppliers: dict[str, Supplier] = {}
        self._offers: dict[tuple[str, str], Offer] = {}

    def __iter__(self) -> Iterator[Supplier]:
        return iter(sorted(self._suppliers.values(), key=lambda supplier: supplier.name))

    def add(self, supplier: Supplier) -> None:
        if supplier.name in self._suppliers:
            raise Conflict(f"{supplier.name} is already known")
        self._suppliers[supplier.name] = supplier

    def get(self, name: str) -> Supplier:
        try:
            return self._suppliers[name]
        except KeyError as error:
            raise NotFound("supplier", name) from error

    def offer(self, offer: Offer) -> None:
        """Add an offer; it replaces an older one of the same supplier and product."""
        self.get(offer.supplier)
        self._catalog.get(offer.sku)
        self._offers[offer.supplier, offer.sku] = offer

    def offers(self, sku: str) -> list[Offer]:
        """Offers for a product, the cheapest per unit first."""
        product = self._catalog.get(sku)
        found = [offer for offer in self._offers.values() if offer.sku == sku]
        return sorted(found, key=lambda offer: (offer.price_per(product), offer.supplier))

    def cheapest(self, sku: str) -> Offer:
        offers = self.offers(sku)
        if not offers:
            raise NotFound("offer for", sku)
        return offers[0]


def propose(directory: SupplierDirectory, stock: Stock, rules: list[ReorderRule]) -> list[Proposal]:
    """Orders that bring every product back to its target, one per supplier."""
    lines: dict[str, list[ProposedLine]] = {}
    for rule in rules:
        shortage = rule.shortage(stock.available(rule.sku))
        if shortage is None:
            continue
        offer = directory.cheapest(rule.sku)
        line = ProposedLine(offer, offer.packs_for(shortage))
        lines.setdefault(offer.supplier, []).append(line)
    return [Proposal(directory.get(name), tuple(lines[name])) for name in sorted(lines)]

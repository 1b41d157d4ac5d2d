"""From order lines to what a customer pays: discounts and tax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from larder.catalog import Catalog, Product
from larder.errors import ValidationError
from larder.money import Money, total
from larder.quantity import Quantity


class Discount(Protocol):
    """A rule that takes something off one line."""

    @property
    def name(self) -> str: ...

    def reduction(self, product: Product, quantity: Quantity, gross: Money) -> Money:
        """How much to take off; zero when the rule does not apply."""
        ...


@dataclass(frozen=True)
class CategoryDiscount:
    """A percentage off everything in a category."""

    category: str
    rate: Decimal

    @property
    def name(self) -> str:
        return f"{self.rate} % off {self.category}"

    def reduction(self, product: Product, quantity: Quantity, gross: Money) -> Money:
        if product.category != self.category:
            return Money.zero(gross.currency)
        return gross.percent(self.rate)


@dataclass(frozen=True)
class BulkDiscount:
    """A percentage off one product from a minimum quantity on."""

    sku: str
    minimum: Quantity
    rate: Decimal

    @property
    def name(self) -> str:
        return f"{self.rate} % off from {self.minimum}"

    def reduction(self, product: Product, quantity: Quantity, gross: Money) -> Money:
        if product.sku != self.sku or quantity < self.minimum:
            return Money.zero(gross.currency)
        return gross.percent(self.rate)


@dataclass(frozen=True)
class TaxTable:
    """Tax rates in per cent by tax class; prices include the tax."""

    rates: tuple[tuple[str, Decimal], ...] = (
        ("standard", Decimal(19)),
        ("reduced", Decimal(7)),
        ("exempt", Decimal(0)),
    )

    def rate(self, tax_class: str) -> Decimal:
        for name, rate in self.rates:
            if name == tax_class:
                return rate
        raise ValidationError(f"unknown tax class {tax_class!r}")

    def included(self, amount: Money, tax_class: str) -> Money:
        """The tax that is inside an amount."""
        rate = self.rate(tax_class)
        return amount.times(rate / (100 + rate))


@dataclass(frozen=True)
class QuotedLine:
    """One line with its price, what was taken off and why."""

    sku: str
    quantity: Quantity
    gross: Money
    reduction: Money
    discount: str
    tax: Money

    @property
    def net(self) -> Money:
        """What the customer pays for the line, tax included."""
        return self.gross - self.reduction


@dataclass(frozen=True)
class Quote:
    """All lines of an order with their totals."""

    lines: tuple[QuotedLine, ...]
    currency: str

    @property
    def total(self) -> Money:
        return total((line.net for line in self.lines), self.currency)

    @property
    def tax(self) -> Money:
        return total((line.tax for line in self.lines), self.currency)

    @property
    def saved(self) -> Money:
        return total((line.reduction for line in self.lines), self.currency)


class PriceBook:
    """Prices of a catalog together with the discounts that hold today."""

    def __init__(
        self,
        catalog: Catalog,
        discounts: Sequence[Discount] = (),
        taxes: TaxTable | None = None,
        currency: str = "EUR",
    ) -> None:
        self._catalog = catalog
        self._discounts = tuple(discounts)
        self._taxes = TaxTable() if taxes is None else taxes
        self._currency = currency

    def line(self, sku: str, quantity: Quantity) -> QuotedLine:
        """Price one line with the single discount that saves most."""
        product = self._catalog.get(sku)
        gross = product.price.times(quantity.to(product.unit).amount)
        name, reduction = self._best(product, quantity, gross)
        tax = self._taxes.included(gross - reduction, product.tax_class)
        return QuotedLine(sku, quantity, gross, reduction, name, tax)

    def quote(self, wanted: Sequence[tuple[str, Quantity]]) -> Quote:
        """Price every line of an order."""
        lines = [self.line(sku, quantity) for sku, quantity in wanted]
        return Quote(tuple(lines), self._currency)

    def _best(self, product: Product, quantity: Quantity, gross: Money) -> tuple[str, Money]:
        best_name, best = "", Money.zero(gross.currency)
        for discount in self._discounts:
            reduction = discount.reduction(product, quantity, gross)
            if best < reduction:
                best_name, best = discount.name, reduction
        return best_name, best


def share_shipping(quote: Quote, shipping: Money) -> list[Money]:
    """Shipping costs of an order by line, in proportion to what each line costs."""
    weights = [line.net.minor for line in quote.lines]
    if not any(weights):
        weights = [1] * len(weights)
    return shipping.allocate(weights)

"""What a shop sells: products and finding them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from larder.errors import Conflict, NotFound, ValidationError
from larder.money import Money
from larder.quantity import Unit

_SKU = re.compile(r"^[A-Z]{2,4}-\d{3,6}$")
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True)
class Product:
    """One article; the price is for one `unit` of it."""

    sku: str
    name: str
    category: str
    unit: Unit
    price: Money
    tax_class: str = "reduced"
    shelf_life_days: int | None = None

    def __post_init__(self) -> None:
        if not _SKU.match(self.sku):
            raise ValidationError(f"{self.sku!r} is not a stock number such as VEG-0042")
        if not self.name.strip():
            raise ValidationError(f"{self.sku} needs a name")
        if self.price.minor < 0:
            raise ValidationError(f"{self.sku} has a negative price")
        if self.shelf_life_days is not None and self.shelf_life_days < 1:
            raise ValidationError(f"{self.sku} must keep for at least one day")

    @property
    def perishable(self) -> bool:
        return self.shelf_life_days is not None


class Catalog:
    """Products by stock number, in the order of their numbers."""

    def __init__(self, products: Iterator[Product] | None = None) -> None:
        self._products: dict[str, Product] = {}
        for product in products or iter(()):
            self.add(product)

    def __len__(self) -> int:
        return len(self._products)

    def __contains__(self, sku: str) -> bool:
        return sku in self._products

    def __iter__(self) -> Iterator[Product]:
        return iter(sorted(self._products.values(), key=lambda product: product.sku))

    def add(self, product: Product) -> None:
        if product.sku in self._products:
            raise Conflict(f"{product.sku} is already in the catalog")
        self._products[product.sku] = product

    def get(self, sku: str) -> Product:
        try:
            return self._products[sku]
        except KeyError as error:
            raise NotFound("product", sku) from error

    def reprice(self, sku: str, price: Money) -> Product:
        """Give a product a new price and return it."""
        changed = replace(self.get(sku), price=price)
        self._products[sku] = changed
        return changed

    def remove(self, sku: str) -> Product:
        removed = self.get(sku)
        del self._products[sku]
        return removed

    def categories(self) -> list[str]:
        return sorted({product.category for product in self._products.values()})

    def in_category(self, category: str) -> list[Product]:
        return [product for product in self if product.category == category]

    def search(self, text: str, limit: int = 10) -> list[Product]:
        """The best matches first: every word must start a word of the product."""
        wanted = words(text)
        scored = [(score(product, wanted), product) for product in self]
        hits = [(points, product) for points, product in scored if points > 0]
        hits.sort(key=lambda hit: (-hit[0], hit[1].sku))
        return [product for _, product in hits[:limit]]


def words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return _WORD.findall(text.lower())


def score(product: Product, wanted: list[str]) -> int:
    """Two points for a whole word, one for the start of one, none if any word is missing."""
    if not wanted:
        return 0
    present = words(f"{product.sku} {product.name} {product.category}")
    points = 0
    for word in wanted:
        if word in present:
            points += 2
        elif any(candidate.startswith(word) for candidate in present):
            points += 1
        else:
            return 0
    return points

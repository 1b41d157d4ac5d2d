"""Reports for people and for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from larder.catalog import Catalog
from larder.money import Money, total
from larder.orders import Order, OrderState
from larder.pricing import PriceBook
from larder.quantity import Quantity, plain
from larder.stock import Movement, Reason, Stock


@dataclass(frozen=True)
class Column:
    """A heading and how its cells are aligned."""

    heading: str
    right: bool = False


@dataclass(frozen=True)
class Table:
    """Cells under headings, already as text."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_text(self) -> str:
        """Columns as wide as their widest cell, for a terminal."""
        widths = [self._width(index) for index in range(len(self.columns))]
        heading = self._line([column.heading for column in self.columns], widths)
        rule = "  ".join("-" * width for width in widths)
        body = [self._line(row, widths) for row in self.rows]
        return "\n".join([heading, rule, *body]) + "\n"

    def to_csv(self) -> str:
        """Comma-separated values with a heading."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(column.heading for column in self.columns)
        writer.writerows(self.rows)
        return stream.getvalue()

    def save(self, path: Path) -> None:
        """Write the table beside whatever is there, as CSV or as text by the suffix."""
        content = self.to_csv() if path.suffix == ".csv" else self.to_text()
        path.write_text(content, encoding="utf-8")

    def _width(self, index: int) -> int:
        cells = [row[index] for row in self.rows]
        return max(len(cell) for cell in [self.columns[index].heading, *cells])

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        parts = []
        for column, cell, width in zip(self.columns, cells, widths, strict=True):
            parts.append(cell.rjust(width) if column.right else cell.ljust(width))
        return "  ".join(parts).rstrip()


STOCK_COLUMNS = (
    Column("sku"),
    Column("name"),
    Column("on hand", right=True),
    Column("reserved", right=True),
    Column("value", right=True),
)


def stock_report(catalog: Catalog, stock: Stock) -> Table:
    """What is on the shelf of each product and what it would sell for."""
    rows = []
    for product in catalog:
        on_hand = stock.on_hand(product.sku)
        value = product.price.times(on_hand.amount)
        reserved = stock.reserved(product.sku)
        rows.append((product.sku, product.name, str(on_hand), str(reserved), str(value)))
    return Table(STOCK_COLUMNS, tuple(rows))


def stock_value(catalog: Catalog, stock: Stock, currency: str = "EUR") -> Money:
    """What everything on the shelf would sell for."""
    values = (product.price.times(stock.on_hand(product.sku).amount) for product in catalog)
    return total(values, currency)


def sales_report(orders: Iterable[Order], prices: PriceBook) -> Table:
    """Delivered orders by day: how many and how much."""
    by_day: dict[date, list[Money]] = defaultdict(list)
    for order in orders:
        if order.state is not OrderState.DELIVERED:
            continue
        quote = prices.quote([(line.sku, line.quantity) for line in order.lines])
        by_day[order.changed_at.date()].append(quote.total)
    columns = (Column("day"), Column("orders", right=True), Column("total", right=True))
    rows = [
        (day.isoformat(), str(len(amounts)), str(total(amounts)))
        for day, amounts in sorted(by_day.items())
    ]
    return Table(columns, tuple(rows))


def best_sellers(movements: Iterable[Movement], catalog: Catalog, limit: int = 10) -> Table:
    """Products by what they brought in at today's prices."""
    sold: dict[str, Quantity] = {}
    for movement in movements:
        if movement.reason is not Reason.SOLD:
            continue
        quantity = movement.quantity.times(-1)
        known = sold.get(movement.sku)
        sold[movement.sku] = quantity if known is None else known + quantity
    ranked = [
        (catalog.get(sku).price.times(quantity.amount).minor, sku, quantity)
        for sku, quantity in sold.items()
    ]
    ranked.sort(key=lambda entry: (-entry[0], entry[1]))
    columns = (Column("sku"), Column("sold", right=True), Column("unit"))
    rows = [
        (sku, plain(quantity.amount), quantity.unit.symbol) for _, sku, quantity in ranked[:limit]
    ]
    return Table(columns, tuple(rows))


def expiry_report(stock: Stock, days: int) -> Table:
    """Batches that must be sold soon."""
    columns = (Column("batch"), Column("sku"), Column("quantity", right=True), Column("expires"))
    rows = [
        (batch.batch_id, batch.sku, str(batch.quantity), f"{batch.expires_on}")
        for batch in stock.expiring_within(days)
    ]
    return Table(columns, tuple(rows))

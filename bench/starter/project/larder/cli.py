"""The `larder` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from larder.catalog import Catalog
from larder.config import Settings, load
from larder.errors import LarderError
from larder.orders import OrderState
from larder.parsing import DeliveryLine, read_delivery
from larder.quantity import Quantity, total
from larder.reports import Column, Table
from larder.stock import Reason
from larder.storage import Database


def main(arguments: Sequence[str] | None = None, out: TextIO = sys.stdout) -> int:
    """Run one command; 0 is success, 1 problems found, 2 it could not be done."""
    options = parser().parse_args(arguments)
    try:
        settings = load(options.config)
        with Database(settings.database) as database:
            return dispatch(options, settings, database, out)
    except LarderError as error:
        print(f"larder: {error}", file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    result = argparse.ArgumentParser(prog="larder", description="Stock and orders of a small shop.")
    result.add_argument("--config", type=Path, default=Path("larder.toml"))
    commands = result.add_subparsers(dest="command", required=True)
    commands.add_parser("products", help="list the catalog")
    orders = commands.add_parser("orders", help="list orders in one state")
    orders.add_argument(
        "--state", choices=[state.value for state in OrderState], default="confirmed"
    )
    check = commands.add_parser("check-delivery", help="read a delivery note and name its problems")
    check.add_argument("file", type=Path)
    moved = commands.add_parser("moved", help="how much of a product moved, and why")
    moved.add_argument("sku")
    return result


def dispatch(
    options: argparse.Namespace, settings: Settings, database: Database, out: TextIO
) -> int:
    """Carry out the chosen command."""
    if options.command == "products":
        out.write(product_table(database).to_text())
        return 0
    if options.command == "orders":
        out.write(order_table(database, OrderState(options.state)).to_text())
        return 0
    if options.command == "moved":
        out.write(movement_table(database, options.sku).to_text())
        return 0
    return check_delivery(options.file, settings.currency, database, out)


def product_table(database: Database) -> Table:
    columns = (Column("sku"), Column("name"), Column("category"), Column("price", right=True))
    rows = [
        (product.sku, product.name, product.category, f"{product.price} / {product.unit.symbol}")
        for product in database.load_catalog()
    ]
    return Table(columns, tuple(rows))


def order_table(database: Database, state: OrderState) -> Table:
    columns = (Column("order"), Column("customer"), Column("lines", right=True), Column("since"))
    rows = [
        (
            order.order_id,
            order.customer,
            str(len(order.lines)),
            f"{order.changed_at:%Y-%m-%d %H:%M}",
        )
        for order in database.orders_in(state)
    ]
    return Table(columns, tuple(rows))


def movement_table(database: Database, sku: str) -> Table:
    """How much of a product moved, by reason."""
    unit = database.load_catalog().get(sku).unit
    rows = []
    for reason in Reason:
        moved: list[Quantity] = database.moved(sku, reason.value)
        rows.append((reason.value, str(len(moved)), str(total(moved, unit))))
    columns = (Column("reason"), Column("times", right=True), Column("quantity", right=True))
    return Table(columns, tuple(rows))


def check_delivery(path: Path, currency: str, database: Database, out: TextIO) -> int:
    """Name every problem of a delivery note; 1 when there is one."""
    catalog = database.load_catalog()
    delivery = read_delivery(path)
    for problem in delivery.problems:
        out.write(f"{problem}\n")
    doubts = [
        f"line {line.line}: {doubt}\n"
        for line in delivery.lines
        for doubt in doubts_about(line, currency, catalog)
    ]
    out.writelines(doubts)
    out.write(f"{len(delivery.lines)} lines read\n")
    return 0 if delivery.complete and not doubts else 1


def doubts_about(line: DeliveryLine, currency: str, catalog: Catalog) -> list[str]:
    """What is odd about a line that could be read."""
    doubts = []
    if line.sku not in catalog:
        doubts.append(f"{line.sku} is not in the catalog")
    if line.price.currency != currency:
        doubts.append(f"the price is in {line.price.currency}, not in {currency}")
    return doubts

"""Keeping products, orders and movements in a SQLite database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from larder.catalog import Catalog, Product
from larder.clock import from_text, to_text
from larder.errors import NotFound, StorageError
from larder.money import Money
from larder.orders import Order, OrderLine, OrderState
from larder.quantity import Quantity, Unit, plain
from larder.stock import Movement

MIGRATIONS = (
    """
    CREATE TABLE product (
        sku TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        category TEXT NOT NULL,
        unit TEXT NOT NULL,
        price_minor INTEGER NOT NULL,
        currency TEXT NOT NULL,
        tax_class TEXT NOT NULL,
        shelf_life_days INTEGER
    );
    PRAGMA user_version = 1;
    """,
    """
    CREATE TABLE customer_order (
        order_id TEXT PRIMARY KEY,
        customer TEXT NOT NULL,
        state TEXT NOT NULL,
        placed_at TEXT NOT NULL,
        changed_at TEXT NOT NULL,
        note TEXT NOT NULL,
        lines TEXT NOT NULL
    );
    CREATE INDEX order_by_state ON customer_order (state, placed_at);
    PRAGMA user_version = 2;
    """,
    """
    CREATE TABLE movement (
        batch_id TEXT NOT NULL,
        sku TEXT NOT NULL REFERENCES product (sku),
        amount TEXT NOT NULL,
        unit TEXT NOT NULL,
        reason TEXT NOT NULL,
        at TEXT NOT NULL
    );
    PRAGMA user_version = 3;
    """,
)


class Database:
    """One open database file, brought to the newest schema."""

    def __init__(self, path: Path | str) -> None:
        try:
            self._connection = sqlite3.connect(path, isolation_level=None)
            self._connection.execute("PRAGMA foreign_keys = ON")
        except sqlite3.Error as error:
            raise StorageError(f"cannot open {path}: {error}") from error
        self._connection.row_factory = sqlite3.Row
        self._migrate()

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    @property
    def version(self) -> int:
        """How many migrations the file has seen."""
        row = self._connection.execute("PRAGMA user_version").fetchone()
        return int(row[0])

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of the block's statements, or none of them."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def save_product(self, product: Product) -> None:
        """Add a product or replace it."""
        values = (
            product.sku,
            product.name,
            product.category,
            product.unit.symbol,
            product.price.minor,
            product.price.currency,
            product.tax_class,
            product.shelf_life_days,
        )
        with self.transaction() as connection:
            connection.execute("REPLACE INTO product VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

    def load_catalog(self) -> Catalog:
        rows = self._connection.execute("SELECT * FROM product ORDER BY sku")
        return Catalog(product_from(row) for row in rows)

    def save_order(self, order: Order) -> None:
        """Add an order or replace it."""
        values = (
            order.order_id,
            order.customer,
            order.state.value,
            to_text(order.placed_at),
            to_text(order.changed_at),
            order.note,
            lines_to_text(order),
        )
        with self.transaction() as connection:
            connection.execute("REPLACE INTO customer_order VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def load_order(self, order_id: str) -> Order:
        query = "SELECT * FROM customer_order WHERE order_id = ?"
        row = self._connection.execute(query, (order_id,)).fetchone()
        if row is None:
            raise NotFound("order", order_id)
        return order_from(row)

    def orders_in(self, state: OrderState) -> list[Order]:
        """Orders in one state, the oldest first."""
        query = "SELECT * FROM customer_order WHERE state = ? ORDER BY placed_at, order_id"
        return [order_from(row) for row in self._connection.execute(query, (state.value,))]

    def add_movements(self, movements: list[Movement]) -> None:
        values = [
            (
                movement.batch_id,
                movement.sku,
                plain(movement.quantity.amount),
                movement.quantity.unit.symbol,
                movement.reason.value,
                to_text(movement.at),
            )
            for movement in movements
        ]
        with self.transaction() as connection:
            connection.executemany("INSERT INTO movement VALUES (?, ?, ?, ?, ?, ?)", values)

    def moved(self, sku: str, reason: str) -> list[Quantity]:
        """Quantities of one product that moved for one reason, in order."""
        query = "SELECT amount, unit FROM movement WHERE sku = ? AND reason = ? ORDER BY rowid"
        rows = self._connection.execute(query, (sku, reason))
        return [Quantity.of(row["amount"], row["unit"]) for row in rows]

    def _migrate(self) -> None:
        known = self.version
        if known > len(MIGRATIONS):
            raise StorageError(f"the database has version {known}, newer than this program")
        for script in MIGRATIONS[known:]:
            with self.transaction() as connection:
                for statement in statements(script):
                    connection.execute(statement)


def statements(script: str) -> list[str]:
    """The statements of a migration; none of them holds a semicolon of its own."""
    return [part.strip() for part in script.split(";") if part.strip()]


def product_from(row: sqlite3.Row) -> Product:
    return Product(
        sku=row["sku"],
        name=row["name"],
        category=row["category"],
        unit=Unit.from_symbol(row["unit"]),
        price=Money(row["price_minor"], row["currency"]),
        tax_class=row["tax_class"],
        shelf_life_days=row["shelf_life_days"],
    )


def lines_to_text(order: Order) -> str:
    """The lines of an order as JSON."""
    return json.dumps([[line.sku, str(line.quantity)] for line in order.lines])


def order_from(row: sqlite3.Row) -> Order:
    lines = [OrderLine(sku, Quantity.parse(text)) for sku, text in json.loads(row["lines"])]
    return Order(
        order_id=row["order_id"],
        customer=row["customer"],
        lines=tuple(lines),
        placed_at=from_text(row["placed_at"]),
        changed_at=from_text(row["changed_at"]),
        state=OrderState(row["state"]),
        note=row["note"],
    )

"""Orders, events, storage and what is built on them."""

from __future__ import annotations

import io
import tempfile
import unittest
from contextlib import redirect_stderr
from datetime import timedelta
from pathlib import Path

from larder import cli
from larder.errors import (
    DeliveryFailed,
    InsufficientStock,
    InvalidTransition,
    NotFound,
    StorageError,
    ValidationError,
)
from larder.events import Event, EventBus, from_record, to_record
from larder.journal import Journal
from larder.notify import Announcer, Message, Outbox, Template
from larder.orders import OrderLine, OrderState
from larder.quantity import Quantity
from larder.reports import best_sellers, expiry_report, sales_report, stock_report, stock_value
from larder.retry import RetryPolicy
from larder.storage import Database

from .shop import MONDAY, Shop, kilograms, pieces, products


class OrderTest(unittest.TestCase):
    def setUp(self) -> None:
        self.shop = Shop()
        self.shop.stock.receive("a", "VEG-0001", kilograms("10"))
        self.shop.stock.receive("b", "EGG-0001", pieces(12))

    def test_an_order_goes_through_its_states(self) -> None:
        order = self.shop.orders.place("Mira", [OrderLine("VEG-0001", kilograms("2"))])
        self.shop.orders.confirm(order.order_id)
        self.shop.orders.pack(order.order_id)
        delivered = self.shop.orders.deliver(order.order_id)
        self.assertEqual(delivered.state, OrderState.DELIVERED)
        self.assertEqual(
            [state.value for state, _ in delivered.history], ["draft", "confirmed", "packed"]
        )
        self.assertEqual(self.shop.stock.on_hand("VEG-0001"), kilograms("8"))

    def test_states_cannot_be_skipped(self) -> None:
        order = self.shop.orders.place("Mira", [OrderLine("VEG-0001", kilograms("2"))])
        with self.assertRaises(InvalidTransition):
            self.shop.orders.pack(order.order_id)

    def test_confirming_reserves_everything_or_nothing(self) -> None:
        lines = [OrderLine("VEG-0001", kilograms("2")), OrderLine("EGG-0001", pieces(13))]
        order = self.shop.orders.place("Mira", lines)
        with self.assertRaises(InsufficientStock):
            self.shop.orders.confirm(order.order_id)
        self.assertEqual(self.shop.stock.available("VEG-0001"), kilograms("10"))
        self.assertEqual(self.shop.orders.get(order.order_id).state, OrderState.DRAFT)

    def test_cancelling_gives_back_what_was_held(self) -> None:
        order = self.shop.orders.place("Mira", [OrderLine("EGG-0001", pieces(12))])
        self.shop.orders.confirm(order.order_id)
        self.shop.orders.cancel(order.order_id)
        self.assertEqual(self.shop.stock.available("EGG-0001"), pieces(12))

    def test_lines_of_one_product_are_merged(self) -> None:
        lines = [OrderLine("EGG-0001", pieces(2)), OrderLine("EGG-0001", Quantity.of(1, "doz"))]
        order = self.shop.orders.place("Mira", lines)
        self.assertEqual(str(order.lines[0].quantity), "14 pc")

    def test_an_empty_order_is_refused(self) -> None:
        with self.assertRaises(ValidationError):
            self.shop.orders.place("Mira", [])

    def test_every_step_is_announced(self) -> None:
        order = self.shop.orders.place("Mira", [OrderLine("EGG-0001", pieces(1))])
        self.shop.orders.confirm(order.order_id)
        names = [event.name for event in self.shop.bus.recent("order.*")]
        self.assertEqual(names, ["order.placed", "order.confirmed"])


class EventTest(unittest.TestCase):
    def test_patterns_cover_names(self) -> None:
        event = Event("order.placed", {}, MONDAY)
        self.assertTrue(
            event.matches("*") and event.matches("order.*") and event.matches("order.placed")
        )
        self.assertFalse(event.matches("order") or event.matches("stock.*"))

    def test_a_subscription_can_end(self) -> None:
        bus, seen = EventBus(), []
        end = bus.subscribe("*", seen.append)
        bus.publish(Event("a.b", {}, MONDAY))
        end()
        bus.publish(Event("a.c", {}, MONDAY))
        self.assertEqual([event.name for event in seen], ["a.b"])

    def test_a_record_survives_a_round_trip(self) -> None:
        event = Event("order.placed", {"order": "1", "lines": 2}, MONDAY)
        self.assertEqual(from_record(to_record(event)), event)


class JournalTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.journal = Journal(Path(folder.name) / "deep" / "journal.jsonl")

    def test_records_come_back_in_order(self) -> None:
        for number in range(3):
            self.journal.append({"number": number})
        self.assertEqual([record["number"] for record in self.journal], [0, 1, 2])
        self.assertEqual(self.journal.last(), {"number": 2})

    def test_an_unfinished_line_is_ignored_and_then_cut(self) -> None:
        self.journal.append({"number": 1})
        with self.journal.path.open("ab") as stream:
            stream.write(b'{"num')
        with self.assertLogs("larder.journal"):
            self.assertEqual(len([*self.journal]), 1)
        with self.assertLogs("larder.journal"):
            self.journal.append({"number": 2})
        self.assertEqual([record["number"] for record in self.journal], [1, 2])

    def test_compacting_drops_records(self) -> None:
        for number in range(4):
            self.journal.append({"number": number})
        self.assertEqual(self.journal.compact(lambda record: record["number"] != 2), 1)
        self.assertEqual([record["number"] for record in self.journal], [0, 1, 3])


class StorageTest(unittest.TestCase):
    def setUp(self) -> None:
        self.shop = Shop()
        self.database = Database(":memory:")
        self.addCleanup(self.database.close)

    def test_the_catalog_survives_a_round_trip(self) -> None:
        for product in products():
            self.database.save_product(product)
        self.assertEqual(
            sorted(product.sku for product in self.database.load_catalog()),
            sorted(p.sku for p in products()),
        )
        self.assertEqual(self.database.load_catalog().get("VEG-0001"), products()[0])

    def test_an_order_survives_a_round_trip(self) -> None:
        order = self.shop.orders.place(
            "Mira", [OrderLine("VEG-0001", kilograms("0.5"))], note="ring twice"
        )
        self.database.save_order(order)
        self.assertEqual(self.database.load_order(order.order_id), order)
        self.assertEqual(self.database.orders_in(OrderState.DRAFT), [order])
        with self.assertRaises(NotFound):
            self.database.load_order("nobody")

    def test_a_failed_transaction_leaves_nothing(self) -> None:
        self.database.save_product(products()[0])
        with self.assertRaises(KeyError), self.database.transaction() as connection:
            connection.execute("DELETE FROM product")
            raise KeyError
        self.assertEqual(len(self.database.load_catalog()), 1)

    def test_movements_are_kept(self) -> None:
        self.database.save_product(products()[0])
        self.shop.stock.receive("a", "VEG-0001", kilograms("2"))
        self.database.add_movements([*self.shop.stock.movements])
        self.assertEqual(self.database.moved("VEG-0001", "received"), [kilograms("2")])

    def test_a_newer_database_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "shop.db"
            with Database(path) as database, database.transaction() as connection:
                connection.execute("PRAGMA user_version = 99")
            with self.assertRaises(StorageError):
                Database(path)


class ReportTest(unittest.TestCase):
    def setUp(self) -> None:
        self.shop = Shop()
        self.shop.stock.receive("a", "VEG-0001", kilograms("10"))
        order = self.shop.orders.place("Mira", [OrderLine("VEG-0001", kilograms("2"))])
        self.shop.orders.confirm(order.order_id)
        self.shop.orders.pack(order.order_id)
        self.shop.orders.deliver(order.order_id)

    def test_the_stock_report_lists_every_product(self) -> None:
        table = stock_report(self.shop.catalog, self.shop.stock)
        self.assertEqual(len(table.rows), 4)
        self.assertIn("8 kg", table.to_text())
        self.assertEqual(str(stock_value(self.shop.catalog, self.shop.stock)), "19.20 EUR")

    def test_sales_are_summed_by_day(self) -> None:
        table = sales_report(self.shop.orders, self.shop.prices)
        self.assertEqual(table.rows, (("2026-03-02", "1", "4.80 EUR"),))

    def test_best_sellers_count_sales_only(self) -> None:
        table = best_sellers(self.shop.stock.movements, self.shop.catalog)
        self.assertEqual(table.to_csv(), "sku,sold,unit\nVEG-0001,2,kg\n")

    def test_what_expires_is_reported(self) -> None:
        self.assertEqual(len(expiry_report(self.shop.stock, 10).rows), 1)
        self.assertEqual(len(expiry_report(self.shop.stock, 9).rows), 0)


class Postman:
    """A transport that fails a given number of times first."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.sent: list[Message] = []

    def send(self, message: Message) -> None:
        if self.failures:
            self.failures -= 1
            raise DeliveryFailed("nobody at home")
        self.sent.append(message)


class NotifyTest(unittest.TestCase):
    def test_a_failed_message_is_sent_again(self) -> None:
        postman = Postman(failures=2)
        outbox = Outbox(postman, RetryPolicy(attempts=3, first_pause=0))
        outbox.add(Message("a@example.org", "hello", ""))
        self.assertEqual((outbox.flush(), len(outbox)), (1, 0))

    def test_what_cannot_be_sent_stays(self) -> None:
        outbox = Outbox(Postman(failures=9), RetryPolicy(attempts=2, first_pause=0))
        outbox.add(Message("a@example.org", "hello", ""))
        with self.assertLogs("larder.notify"):
            self.assertEqual(outbox.flush(), 0)
        self.assertEqual(len(outbox), 1)

    def test_events_with_a_template_become_messages(self) -> None:
        postman = Postman(failures=0)
        outbox = Outbox(postman)
        announcer = Announcer(outbox, "shop@example.org")
        announcer.on("order.placed", Template("Order $order", "for $customer"))
        announcer(Event("order.placed", {"order": "7", "customer": "Mira"}, MONDAY))
        announcer(Event("order.packed", {"order": "7"}, MONDAY + timedelta(hours=1)))
        outbox.flush()
        self.assertEqual(postman.sent, [Message("shop@example.org", "Order 7", "for Mira")])


class CommandTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.config = self.folder / "larder.toml"
        self.config.write_text('shop = "Corner"\n', encoding="utf-8")

    def run_command(self, *arguments: str) -> tuple[int, str]:
        out = io.StringIO()
        with redirect_stderr(out):
            code = cli.main(["--config", str(self.config), *arguments], out)
        return code, out.getvalue()

    def test_products_are_listed(self) -> None:
        with Database(self.folder / "larder.db") as database:
            database.save_product(products()[0])
        code, text = self.run_command("products")
        self.assertEqual(code, 0)
        self.assertIn("2.40 EUR / kg", text)

    def test_a_delivery_note_with_problems_is_not_fine(self) -> None:
        with Database(self.folder / "larder.db") as database:
            database.save_product(products()[0])
        note = self.folder / "note.csv"
        note.write_text(
            "sku,quantity,price\nVEG-0001,2 kg,4.00 EUR\nVEG-0009,1 kg,1.00 USD\n", encoding="utf-8"
        )
        code, text = self.run_command("check-delivery", str(note))
        self.assertEqual(code, 1)
        self.assertIn("line 3: VEG-0009 is not in the catalog", text)
        self.assertIn("line 3: the price is in USD, not in EUR", text)

    def test_a_missing_configuration_is_named(self) -> None:
        self.config.unlink()
        code, text = self.run_command("products")
        self.assertEqual(code, 2)
        self.assertIn("cannot read", text)

"""Catalog, stock, suppliers and prices."""

from __future__ import annotations

import unittest
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

from larder.catalog import Catalog
from larder.errors import Conflict, InsufficientStock, NotFound, ValidationError
from larder.money import Money, total
from larder.pricing import BulkDiscount, CategoryDiscount, PriceBook, share_shipping
from larder.quantity import Quantity, Unit
from larder.stock import Reason
from larder.suppliers import Offer, ReorderRule, Supplier, SupplierDirectory, propose

from .shop import Shop, kilograms, pieces, products


class CatalogTest(unittest.TestCase):
    def test_a_stock_number_is_given_once(self) -> None:
        catalog = Catalog(iter(products()))
        with self.assertRaises(Conflict):
            catalog.add(products()[0])

    def test_every_word_must_match(self) -> None:
        catalog = Catalog(iter(products()))
        self.assertEqual([hit.sku for hit in catalog.search("baby spi")], ["VEG-0002"])
        self.assertEqual(catalog.search("baby carrots"), [])

    def test_whole_words_come_first(self) -> None:
        catalog = Catalog(iter(products()))
        catalog.add(replace(products()[0], sku="VEG-0003", name="Egg plant"))
        self.assertEqual([hit.sku for hit in catalog.search("egg")], ["EGG-0001", "VEG-0003"])

    def test_a_wrong_product_is_refused(self) -> None:
        with self.assertRaises(ValidationError):
            replace(products()[0], sku="carrots")
        with self.assertRaises(ValidationError):
            replace(products()[0], price=Money(-1))

    def test_a_new_price_holds_from_now_on(self) -> None:
        catalog = Catalog(iter(products()))
        catalog.reprice("VEG-0001", Money(199))
        self.assertEqual(catalog.get("VEG-0001").price, Money(199))


class StockTest(unittest.TestCase):
    def setUp(self) -> None:
        self.shop = Shop()
        self.stock = self.shop.stock

    def test_the_first_to_expire_leaves_first(self) -> None:
        self.stock.receive("old", "VEG-0001", kilograms("2"))
        self.shop.clock.advance(timedelta(days=3))
        self.stock.receive("new", "VEG-0001", kilograms("5"))
        picks = self.stock.pick("VEG-0001", kilograms("3"))
        self.assertEqual(
            [(pick.batch_id, str(pick.quantity)) for pick in picks],
            [("old", "2 kg"), ("new", "1 kg")],
        )

    def test_expired_goods_are_on_hand_but_cannot_be_sold(self) -> None:
        self.stock.receive("a", "VEG-0001", kilograms("2"))
        self.shop.clock.advance(timedelta(days=11))
        self.assertEqual(self.stock.on_hand("VEG-0001"), kilograms("2"))
        self.assertFalse(self.stock.sellable("VEG-0001").is_positive)
        with self.assertRaises(InsufficientStock):
            self.stock.pick("VEG-0001", kilograms("1"))

    def test_a_reservation_reduces_what_is_available(self) -> None:
        self.stock.receive("a", "EGG-0001", pieces(30))
        self.stock.reserve("one", "EGG-0001", Quantity.of(2, "doz"))
        self.assertEqual(self.stock.available("EGG-0001"), pieces(6))
        with self.assertRaises(InsufficientStock):
            self.stock.reserve("two", "EGG-0001", pieces(7))
        self.stock.release("one")
        self.assertEqual(self.stock.available("EGG-0001"), pieces(30))

    def test_selling_ends_the_reservation(self) -> None:
        self.stock.receive("a", "EGG-0001", pieces(30))
        self.stock.reserve("one", "EGG-0001", pieces(10))
        self.stock.sell("one", "EGG-0001", pieces(10))
        self.assertEqual(self.stock.available("EGG-0001"), pieces(20))
        self.assertFalse(self.stock.reserved("EGG-0001").is_positive)

    def test_writing_off_records_why(self) -> None:
        self.stock.receive("a", "VEG-0001", kilograms("2"))
        self.shop.clock.advance(timedelta(days=11))
        (movement,) = self.stock.write_off_expired()
        self.assertEqual((movement.reason, str(movement.quantity)), (Reason.SPOILED, "-2 kg"))

    def test_a_count_corrects_in_both_directions(self) -> None:
        self.stock.receive("a", "EGG-0001", pieces(30))
        self.assertIsNone(self.stock.count("a", pieces(30)))
        self.stock.count("a", pieces(28))
        self.stock.count("a", pieces(29))
        self.assertEqual(self.stock.on_hand("EGG-0001"), pieces(29))

    def test_movements_add_up_to_what_is_there(self) -> None:
        self.stock.receive("a", "EGG-0001", pieces(30))
        self.stock.sell("one", "EGG-0001", pieces(10))
        moved = [movement.quantity.amount for movement in self.stock.history("EGG-0001")]
        self.assertEqual(sum(moved), 20)

    def test_what_expires_soon_is_named(self) -> None:
        self.stock.receive("a", "VEG-0001", kilograms("2"))
        self.stock.receive("b", "VEG-0002", Quantity.of(500, "g"))
        self.assertEqual([batch.batch_id for batch in self.stock.expiring_within(4)], ["b"])
        self.assertEqual(self.stock.expiring_within(10)[1].expires_on, date(2026, 3, 12))


class PricingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.catalog = Catalog(iter(products()))

    def test_only_the_best_discount_counts(self) -> None:
        discounts = [
            CategoryDiscount("vegetables", Decimal(10)),
            BulkDiscount("VEG-0001", kilograms("5"), Decimal(20)),
        ]
        prices = PriceBook(self.catalog, discounts)
        self.assertEqual(prices.line("VEG-0001", kilograms("4")).net, Money(864))
        self.assertEqual(prices.line("VEG-0001", kilograms("5")).net, Money(960))

    def test_the_tax_is_inside_the_price(self) -> None:
        line = PriceBook(self.catalog).line("DRY-0001", kilograms("1"))
        self.assertEqual((line.net, line.tax), (Money(350), Money(23)))

    def test_a_quote_adds_up(self) -> None:
        wanted = [("VEG-0001", kilograms("0.5")), ("EGG-0001", Quantity.of(1, "doz"))]
        quote = PriceBook(self.catalog).quote(wanted)
        self.assertEqual(quote.total, Money(120 + 420))

    def test_shipping_is_shared_without_loss(self) -> None:
        wanted = [
            ("VEG-0001", kilograms("1")),
            ("EGG-0001", pieces(1)),
            ("DRY-0001", kilograms("1")),
        ]
        quote = PriceBook(self.catalog).quote(wanted)
        self.assertEqual(total(share_shipping(quote, Money(499))), Money(499))


class SupplierTest(unittest.TestCase):
    def setUp(self) -> None:
        self.shop = Shop()
        self.directory = SupplierDirectory(self.shop.catalog)
        self.directory.add(Supplier("Greenfield", "orders@greenfield.example", 2, Money(1000)))
        self.directory.add(Supplier("Old Mill", "shop@oldmill.example", 1, Money(500)))
        self.directory.offer(Offer("Greenfield", "VEG-0001", kilograms("5"), Money(700)))
        self.directory.offer(Offer("Old Mill", "VEG-0001", Quantity.of(2500, "g"), Money(360)))

    def test_the_cheapest_per_unit_wins(self) -> None:
        self.assertEqual(self.directory.cheapest("VEG-0001").supplier, "Greenfield")

    def test_enough_is_not_ordered_again(self) -> None:
        self.shop.stock.receive("a", "VEG-0001", kilograms("4"))
        rule = ReorderRule("VEG-0001", kilograms("4"), kilograms("12"))
        self.assertEqual(propose(self.directory, self.shop.stock, [rule]), [])

    def test_packs_are_whole(self) -> None:
        rule = ReorderRule("VEG-0001", kilograms("4"), kilograms("12"))
        (proposal,) = propose(self.directory, self.shop.stock, [rule])
        self.assertEqual(proposal.lines[0].packs, 3)
        self.assertEqual(proposal.cost, Money(2100))
        self.assertTrue(proposal.acceptable)

    def test_nothing_can_be_ordered_without_an_offer(self) -> None:
        with self.assertRaises(NotFound):
            self.directory.cheapest("EGG-0001")

    def test_units_of_offers_may_differ(self) -> None:
        self.assertEqual(
            self.directory.offers("VEG-0001")[1].pack.to(Unit.KILOGRAM), kilograms("2.5")
        )

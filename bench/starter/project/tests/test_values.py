"""Money, quantities and time."""

from __future__ import annotations

import unittest
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

from larder.clock import FixedClock, SystemClock, from_text, start_of_day, to_text
from larder.errors import CurrencyMismatch, ParseError, UnitMismatch, ValidationError
from larder.money import Money, total
from larder.quantity import Quantity, Unit


class MoneyTest(unittest.TestCase):
    def test_text_survives_a_round_trip(self) -> None:
        for text in ("12.50 EUR", "-0.05 CHF", "900 JPY"):
            self.assertEqual(str(Money.parse(text)), text)

    def test_a_comma_is_a_decimal_point(self) -> None:
        self.assertEqual(Money.parse("3,20 EUR"), Money(320))

    def test_more_digits_than_the_currency_has_are_refused(self) -> None:
        with self.assertRaises(ValidationError):
            Money.of("1.005")
        with self.assertRaises(ValidationError):
            Money.of("1.5", "JPY")

    def test_currencies_do_not_mix(self) -> None:
        with self.assertRaises(CurrencyMismatch):
            Money(1, "EUR") + Money(1, "USD")

    def test_rounding_is_half_to_even(self) -> None:
        self.assertEqual(Money(25).percent(10), Money(2))
        self.assertEqual(Money(35).percent(10), Money(4))

    def test_an_allocation_loses_no_cent(self) -> None:
        shares = Money(100).allocate([1, 1, 1])
        self.assertEqual([share.minor for share in shares], [34, 33, 33])
        self.assertEqual(total(shares), Money(100))

    def test_a_negative_amount_can_be_allocated(self) -> None:
        self.assertEqual(total(Money(-100).allocate([2, 1, 4])), Money(-100))

    def test_the_sum_of_nothing_is_zero_in_the_given_currency(self) -> None:
        self.assertEqual(total([], "SEK"), Money(0, "SEK"))


class QuantityTest(unittest.TestCase):
    def test_units_of_one_dimension_add_up(self) -> None:
        self.assertEqual(
            str(Quantity.parse("1.5 kg") + Quantity.parse("250 g")),
            "1.75 kg",
        )

    def test_a_dozen_is_twelve(self) -> None:
        self.assertEqual(Quantity.parse("2 doz").to(Unit.PIECE), Quantity.of(24, "pc"))

    def test_mass_is_not_volume(self) -> None:
        with self.assertRaises(UnitMismatch):
            Quantity.parse("1 kg").to(Unit.LITRE)

    def test_nonsense_is_not_a_quantity(self) -> None:
        for text in ("", "kg", "1,2,3 g", "4 stone"):
            with self.subTest(text=text), self.assertRaises(ParseError):
                Quantity.parse(text)

    def test_comparison_looks_at_the_size_not_at_the_number(self) -> None:
        self.assertLess(Quantity.of(900, "g"), Quantity.of(1, "kg"))


class ClockTest(unittest.TestCase):
    def test_the_system_clock_is_aware(self) -> None:
        self.assertEqual(SystemClock().now().utcoffset(), timedelta(0))

    def test_a_naive_instant_is_refused(self) -> None:
        with self.assertRaises(ValidationError):
            to_text(datetime.fromisoformat("2026-03-02T09:30:00"))

    def test_an_offset_is_converted(self) -> None:
        instant = datetime(2026, 3, 2, 9, 30, tzinfo=timezone(timedelta(hours=2)))
        self.assertEqual(to_text(instant), "2026-03-02T07:30:00Z")
        self.assertEqual(from_text("2026-03-02T09:30:00+02:00"), instant)

    def test_the_day_starts_at_midnight_utc(self) -> None:
        instant = datetime(2026, 3, 2, 23, 59, tzinfo=UTC)
        self.assertEqual(start_of_day(instant), datetime(2026, 3, 2, tzinfo=UTC))

    def test_a_fixed_clock_does_not_run_backwards(self) -> None:
        clock = FixedClock(datetime(2026, 3, 2, tzinfo=UTC))
        with self.assertRaises(ValidationError):
            clock.advance(timedelta(seconds=-1))

    def test_decimals_are_kept_exactly(self) -> None:
        self.assertEqual(Money(1999).major, Decimal("19.99"))

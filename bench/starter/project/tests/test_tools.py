"""Configuration, parsing, scheduling, caching and retrying."""

from __future__ import annotations

import unittest
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

from larder import config
from larder.cache import Cache
from larder.clock import FixedClock
from larder.errors import (
    ConfigError,
    Conflict,
    DeliveryFailed,
    ParseError,
    RetriesExhausted,
    ValidationError,
)
from larder.money import Money
from larder.parsing import parse_delivery, write_delivery
from larder.retry import RetryPolicy, call
from larder.schedule import Daily, Every, Scheduler, weekly

from .shop import MONDAY

NOTE = """sku;quantity;price;expires
veg-0001;12,5 kg;18,00 EUR;2026-03-12
EGG-0001;10 doz;30.00 EUR;
"""


class ConfigTest(unittest.TestCase):
    def test_defaults_fill_the_gaps(self) -> None:
        settings = config.parse({"shop": "Corner"}, Path("/srv"))
        self.assertEqual(settings.database, Path("/srv/larder.db"))
        self.assertEqual(settings.delivery, config.Delivery())

    def test_a_misspelt_key_is_named(self) -> None:
        with self.assertRaisesRegex(ConfigError, "curency"):
            config.parse({"shop": "Corner", "curency": "EUR"}, Path())

    def test_wrong_values_are_refused(self) -> None:
        wrong = (
            {"shop": ""},
            {"shop": "Corner", "currency": "XXX"},
            {"shop": "Corner", "expiry_warning_days": True},
            {"shop": "Corner", "retry": {"attempts": 0}},
            {"shop": "Corner", "delivery": {"earliest": time(18), "latest": time(8)}},
        )
        for content in wrong:
            with self.subTest(content=content), self.assertRaises(ConfigError):
                config.parse(content, Path())


class ParsingTest(unittest.TestCase):
    def test_a_note_is_read(self) -> None:
        delivery = parse_delivery(NOTE)
        self.assertTrue(delivery.complete)
        self.assertEqual([line.sku for line in delivery.lines], ["VEG-0001", "EGG-0001"])
        self.assertEqual(delivery.lines[0].price, Money(1800))
        self.assertEqual(delivery.lines[1].batch, "L0003")

    def test_a_problem_names_its_line_and_spares_the_others(self) -> None:
        delivery = parse_delivery(NOTE + "DRY-0001;lots;1.00 EUR;\nDRY-0002;1 kg\n")
        self.assertEqual(len(delivery.lines), 2)
        self.assertEqual([problem.line for problem in delivery.problems], [4, 5])

    def test_unusable_notes_are_refused(self) -> None:
        for content in (
            "",
            "sku,quantity\n",
            "sku,quantity,price,colour\n",
            "sku,sku,quantity,price\n",
        ):
            with self.subTest(content=content), self.assertRaises(ParseError):
                parse_delivery(content)

    def test_what_was_written_can_be_read(self) -> None:
        lines = parse_delivery(NOTE).lines
        again = parse_delivery(write_delivery(lines)).lines
        self.assertEqual([line.price for line in again], [line.price for line in lines])


class ScheduleTest(unittest.TestCase):
    def test_an_interval_counts_from_its_start(self) -> None:
        rule = Every(timedelta(hours=6), MONDAY)
        self.assertEqual(rule.after(MONDAY), MONDAY + timedelta(hours=6))
        self.assertEqual(rule.after(MONDAY - timedelta(days=1)), MONDAY)

    def test_a_day_later_when_the_time_has_passed(self) -> None:
        self.assertEqual(Daily(time(9, 30)).after(MONDAY), MONDAY + timedelta(days=1))
        self.assertEqual(Daily(time(10)).after(MONDAY), MONDAY.replace(hour=10, minute=0))

    def test_weekdays_are_read_from_text(self) -> None:
        rule = weekly("Wednesday, monday", time(8))
        self.assertEqual(rule.after(MONDAY), datetime(2026, 3, 4, 8, tzinfo=UTC))
        with self.assertRaises(ValidationError):
            weekly("someday", time(8))

    def test_a_late_job_runs_once(self) -> None:
        clock = FixedClock(MONDAY)
        scheduler, runs = Scheduler(clock), []
        scheduler.add("count", Every(timedelta(hours=1), MONDAY), lambda: runs.append(clock.now()))
        self.assertEqual(scheduler.run_due(), [])
        clock.advance(timedelta(hours=5))
        self.assertEqual(scheduler.run_due(), ["count"])
        self.assertEqual(scheduler.run_due(), [])
        self.assertEqual(scheduler.next_due(), MONDAY + timedelta(hours=6))

    def test_names_of_jobs_are_unique(self) -> None:
        scheduler = Scheduler(FixedClock(MONDAY))
        scheduler.add("count", Daily(time(8)), int)
        with self.assertRaises(Conflict):
            scheduler.add("count", Daily(time(9)), int)


class CacheTest(unittest.TestCase):
    def test_entries_grow_old(self) -> None:
        clock = FixedClock(MONDAY)
        cache: Cache[str, int] = Cache(clock, timedelta(minutes=5))
        cache.put("a", 1)
        self.assertEqual(cache.get("a"), 1)
        clock.advance(timedelta(minutes=5))
        self.assertIsNone(cache.get("a"))

    def test_the_least_recently_used_goes_first(self) -> None:
        cache: Cache[str, int] = Cache(FixedClock(MONDAY), timedelta(minutes=5), size=2)
        cache.put("a", 1)
        cache.put("b", 2)
        cache.get("a")
        cache.put("c", 3)
        self.assertIsNone(cache.get("b"))
        self.assertEqual((cache.get("a"), cache.statistics().evictions), (1, 1))

    def test_an_entry_is_made_once(self) -> None:
        cache: Cache[str, list[int]] = Cache(FixedClock(MONDAY), timedelta(minutes=5))
        self.assertIs(cache.get_or_make("a", lambda: [1]), cache.get_or_make("a", lambda: [2]))
        self.assertEqual(cache.statistics().hit_rate, 0.5)


class RetryTest(unittest.TestCase):
    def test_pauses_grow_up_to_a_limit(self) -> None:
        policy = RetryPolicy(attempts=5, first_pause=1, factor=3, longest_pause=10)
        self.assertEqual([*policy.pauses()], [1, 3, 9, 10])

    def test_it_gives_up_with_the_last_failure_as_the_cause(self) -> None:
        pauses: list[float] = []

        def fail() -> None:
            raise DeliveryFailed(f"after {len(pauses)}")

        with self.assertRaises(RetriesExhausted) as caught:
            call(fail, RetryPolicy(attempts=3, first_pause=1), sleep=pauses.append)
        self.assertEqual(pauses, [1, 2])
        self.assertEqual(str(caught.exception.__cause__), "after 2")

    def test_other_errors_pass_through_at_once(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            call(lambda: 1 / 0, RetryPolicy(), sleep=self.fail)

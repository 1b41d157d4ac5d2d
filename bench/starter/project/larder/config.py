"""The configuration of a shop: one TOML file, checked once, then never again."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time, timedelta
from pathlib import Path

from larder.errors import ConfigError, LarderError
from larder.money import minor_digits
from larder.retry import RetryPolicy

Table = Mapping[str, object]


@dataclass(frozen=True)
class Delivery:
    """When a shop delivers and how long before an order must be in."""

    days: tuple[str, ...] = ("tuesday", "friday")
    earliest: time = time(8, 0)
    latest: time = time(18, 0)
    lead_time: timedelta = timedelta(hours=12)


@dataclass(frozen=True)
class Settings:
    """Everything that can be configured, with its defaults."""

    shop: str
    database: Path
    currency: str = "EUR"
    expiry_warning_days: int = 3
    delivery: Delivery = field(default_factory=Delivery)
    retry: RetryPolicy = field(default_factory=RetryPolicy)


def load(path: Path) -> Settings:
    """Read and check a configuration file; paths in it are relative to it."""
    try:
        with path.open("rb") as stream:
            content = tomllib.load(stream)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    return parse(content, path.parent)


def parse(content: Table, folder: Path) -> Settings:
    """Settings from the content of a file."""
    refuse_unknown(
        content, {"shop", "database", "currency", "expiry_warning_days", "delivery", "retry"}
    )
    currency = text(content, "currency", "EUR")
    try:
        minor_digits(currency)
    except LarderError as error:
        raise ConfigError(f"currency: {error}") from error
    return Settings(
        shop=text(content, "shop"),
        database=folder / text(content, "database", "larder.db"),
        currency=currency,
        expiry_warning_days=whole(content, "expiry_warning_days", 3),
        delivery=parse_delivery(table(content, "delivery")),
        retry=parse_retry(table(content, "retry")),
    )


def parse_delivery(content: Table) -> Delivery:
    refuse_unknown(content, {"days", "earliest", "latest", "lead_time_hours"})
    defaults = Delivery()
    delivery = Delivery(
        days=names(content, "days", defaults.days),
        earliest=clock_time(content, "earliest", defaults.earliest),
        latest=clock_time(content, "latest", defaults.latest),
        lead_time=timedelta(hours=whole(content, "lead_time_hours", 12)),
    )
    if delivery.latest <= delivery.earliest:
        raise ConfigError("delivery.latest must be after delivery.earliest")
    return delivery


def parse_retry(content: Table) -> RetryPolicy:
    refuse_unknown(content, {"attempts", "first_pause", "longest_pause"})
    defaults = RetryPolicy()
    try:
        return RetryPolicy(
            attempts=whole(content, "attempts", defaults.attempts),
            first_pause=number(content, "first_pause", defaults.first_pause),
            longest_pause=number(content, "longest_pause", defaults.longest_pause),
        )
    except LarderError as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"retry: {error}") from error


def refuse_unknown(content: Table, known: set[str]) -> None:
    """A misspelt key must not be ignored."""
    unknown = sorted(set(content) - known)
    if unknown:
        raise ConfigError(f"unknown keys: {', '.join(unknown)}")


def table(content: Table, key: str) -> Table:
    value = content.get(key, {})
    if not isinstance(value, dict):
        raise ConfigError(f"{key} must be a table")
    return value


def text(content: Table, key: str, default: str | None = None) -> str:
    value = content.get(key, default)
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{key} must be a text that is not empty")
    return value


def whole(content: Table, key: str, default: int) -> int:
    value = content.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ConfigError(f"{key} must be a whole number, not negative")
    return value


def number(content: Table, key: str, default: float) -> float:
    value = content.get(key, default)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ConfigError(f"{key} must be a number")
    return value


def names(content: Table, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    value = content.get(key)
    if value is None:
        return default
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{key} must be a list of texts")
    return tuple(value)


def clock_time(content: Table, key: str, default: time) -> time:
    value = content.get(key, default)
    if not isinstance(value, time):
        raise ConfigError(f"{key} must be a time of day such as 08:30:00")
    return value

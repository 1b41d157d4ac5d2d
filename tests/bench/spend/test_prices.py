"""Prices are exact, cited and never guessed."""

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from spend_builders import PRICE, usage

from bench.agents import Usage
from bench.errors import ConfigError
from bench.spend import cost_of, read_prices, tokens_of

counts = st.integers(0, 10**9)
rates = st.decimals(min_value=0, max_value=1000, places=6)
ENTRY = {"input": 1, "output": 5.25, "source": "https://example.org", "date": "2026-11-30"}


@given(st.tuples(counts, counts, counts, counts), st.tuples(rates, rates, rates, rates))
def test_a_cost_is_the_exact_sum_of_its_parts(tokens: tuple[int, ...], dollars: tuple[Decimal, ...]) -> None:
    names = ("input", "output", "cache_read", "cache_write")
    price = structs.replace(PRICE, cache_write_1h=None, **dict(zip(names, dollars, strict=True)))
    used = Usage(**dict(zip(names, tokens, strict=True)))  # type: ignore[arg-type]
    exact = sum(Fraction(count) * Fraction(rate) / 10**6 for count, rate in zip(tokens, dollars, strict=True))
    assert Fraction(cost_of(price, used) or 0, 10**12) == exact


@pytest.mark.parametrize("unknown", ["input", "output", "cache_read", "cache_write"])
def test_one_unknown_count_makes_the_cost_and_the_tokens_unknown(unknown: str) -> None:
    used = structs.replace(usage(5), **{unknown: None})
    assert cost_of(PRICE, used) is None
    assert tokens_of(used) is None


def test_a_count_that_the_provider_does_not_have_may_be_missing_but_not_more_than_zero() -> None:
    price = structs.replace(PRICE, cache_write=None, cache_write_1h=None)
    used = structs.replace(usage(5), cache_write=None)
    assert cost_of(price, used) == 5 * 15 * 10**6
    assert tokens_of(used, price) == 5
    assert cost_of(price, structs.replace(used, cache_write=7)) is None


def test_what_was_written_to_a_cache_costs_the_dearest_rate() -> None:
    assert cost_of(PRICE, structs.replace(usage(), cache_write=1)) == 6 * 10**6


def test_every_built_in_price_is_cited_and_dated() -> None:
    table = read_prices(None)
    assert len(table.models) >= 3
    assert all(
        price.source.startswith("https://") and price.date >= "2026" for price in table.models.values()
    )
    assert table.find("claude-haiku-4-5") is None
    assert table.find(None) is None


def write_prices(root: Path, name: str, models: dict[str, Any], **changes: Any) -> None:
    folder = root / "conf" / "prices"
    folder.mkdir(parents=True, exist_ok=True)
    content = {"schema": "prices/1", "version": name, "currency": "USD per million tokens", "models": models}
    (folder / f"{name}.json").write_text(json.dumps({**content, **changes}))


def test_a_projects_price_comes_before_a_built_in_one_and_changes_the_digest(tmp_path: Path) -> None:
    before = read_prices(None)
    write_prices(tmp_path, "mine", {"claude-haiku-4-5-20251001": ENTRY, "own-model": ENTRY})
    table = read_prices(tmp_path)
    found = table.find("claude-haiku-4-5-20251001")
    assert found is not None
    assert (found.output, found.cache_read) == (Decimal("5.25"), None)
    assert table.find("own-model") == found
    assert table.digest != before.digest
    assert table.version[-1] == "mine"


def test_the_digest_is_of_the_prices_alone(tmp_path: Path) -> None:
    write_prices(tmp_path, "one", {"m": {**ENTRY, "input": 1.50}})
    first = read_prices(tmp_path).digest
    (tmp_path / "conf" / "prices" / "one.json").unlink()
    write_prices(tmp_path, "two", {"m": {**ENTRY, "input": 1.5}})
    assert read_prices(tmp_path).digest == first


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({**ENTRY, "input": -1}, "must be at least 0, not -1"),
        (
            {**ENTRY, "input": 0.1234567},
            "conf/prices/bad.json: m.input: 0.1234567 dollars per million tokens",
        ),
        ({"input": 1, "output": 1}, "models.m.source: must be given"),
        ({**ENTRY, "inptu": 1}, "inptu"),
        ({**ENTRY, "date": "yesterday"}, "models.m.date"),
    ],
)
def test_a_bad_price_is_refused_with_its_file(entry: dict[str, Any], message: str, tmp_path: Path) -> None:
    write_prices(tmp_path, "bad", {"m": entry})
    with pytest.raises(ConfigError) as caught:
        read_prices(tmp_path)
    assert message in str(caught.value)
    assert "conf/prices/bad.json" in str(caught.value)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    write_prices(tmp_path, "bad", {})
    (tmp_path / "conf" / "prices" / "bad.json").write_text("{")
    with pytest.raises(ConfigError, match=r"the prices conf/prices/bad\.json cannot be read"):
        read_prices(tmp_path)

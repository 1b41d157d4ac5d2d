"""Reads the price table: the files prices/*.json of every folder of option files."""

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from bench.config import ConfigFolder, load_schema, refuse, schema_complaints, search_folders
from bench.errors import ConfigError
from bench.spend.prices import Price, PriceTable, per_token

_FOLDER = "prices"


class _PriceFile(msgspec.Struct, frozen=True):
    version: str
    models: dict[str, Price]


def read_prices(root: Path | None, config_dirs: Sequence[Path] = ()) -> PriceTable:
    """All prices; of two for one model, the one of the folder that comes first. ConfigError names a bad file."""
    versions: list[str] = []
    models: dict[str, Price] = {}
    for folder in reversed(search_folders(root, config_dirs)):
        here = [_read(path, folder) for path in sorted((folder.path / _FOLDER).glob("*.json"))]
        versions += [file.version for file in here]
        for file in here:
            models |= file.models
    return PriceTable(version=tuple(versions), models=dict(sorted(models.items())))


def _read(path: Path, folder: ConfigFolder) -> _PriceFile:
    label = folder.label(f"{_FOLDER}/{path.name}")
    try:
        content = path.read_bytes()
        plain = json.loads(content)
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"the prices {label} cannot be read: {error}") from error
    refuse(schema_complaints(load_schema("prices"), plain), lambda _path: label)
    file = msgspec.json.decode(
        content, type=_PriceFile
    )  # numbers by their text: no price goes through a float
    for model, price in file.models.items():
        _check_rates(price, f"{label}: {model}")
    return file


def _check_rates(price: Price, where: str) -> None:
    for name, rate in msgspec.structs.asdict(price).items():
        if isinstance(rate, Decimal):
            _check_rate(rate, f"{where}.{name}")


def _check_rate(rate: Decimal, where: Any) -> None:
    try:
        per_token(rate)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from error

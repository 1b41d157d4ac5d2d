"""Cassettes: every exchange of a run as files, one per cell, from which it can be answered again without a model.

A file is a sequence of gzip members, one JSON object each: what a crash leaves unfinished at its end is ignored.
"""

import base64
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bench.digest import canonical_json, digest_bytes
from bench.errors import GatewayError
from bench.gateway.canonical import canonical_request, first_difference, request_key
from bench.gateway.model import ModelProtocol
from bench.redaction import Redactor

CASSETTE_SCHEMA = "cassette/1"
SUFFIX = ".cassette.gz"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Exchange(Struct, frozen=True, kw_only=True):
    """One recorded request, in canonical form and redacted, and its answer. `cut` is an answer that broke; `status`
    None one that never came. A body that is no text is written in base 64.
    """

    schema: Literal["cassette/1"] = "cassette/1"
    key: str
    cell: str
    session: str
    seq: int
    protocol: ModelProtocol
    path: str
    request: dict[str, Any]
    status: int | None
    headers: tuple[tuple[str, str], ...]
    body: str
    encoded: bool = False
    cut: bool = False

    @property
    def content(self) -> bytes:
        """The answer's bytes."""
        return base64.b64decode(self.body) if self.encoded else self.body.encode()


class Miss(Struct, frozen=True):
    """A request that was not recorded."""

    sentence: str


def canonical_redacted(request: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    """The form of a request that is recorded and looked up."""
    clean: dict[str, Any] = msgspec.json.decode(redactor.bytes(canonical_json(canonical_request(request))))
    return clean


def body_text(content: bytes, redactor: Redactor) -> tuple[str, bool]:
    """An answer's body as a redacted text, and whether it had to be written in base 64."""
    clean = redactor.bytes(content)
    try:
        return clean.decode(), False
    except UnicodeDecodeError:
        return base64.b64encode(clean).decode("ascii"), True


def cassette_path(folder: Path, cell: str) -> Path:
    """Where a cell's exchanges are: its name made harmless, and told apart by its digest."""
    return folder / f"{_UNSAFE.sub('-', cell)[:60]}-{digest_bytes(cell.encode())[:12]}{SUFFIX}"


def append_exchange(folder: Path, exchange: Exchange) -> None:
    """Write one exchange behind the others of its cell."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    member = gzip.compress(msgspec.json.encode(exchange), compresslevel=3, mtime=0)
    with cassette_path(folder, exchange.cell).open("ab") as file:
        file.write(member)


def read_exchanges(path: Path) -> Iterator[Exchange]:
    """The exchanges of one file. GatewayError for one that is damaged before its end."""
    rest = path.read_bytes()
    number = 0
    while rest:
        number += 1
        unpacker = zlib.decompressobj(wbits=31)
        try:
            content = unpacker.decompress(rest)
            if not unpacker.eof:
                return  # torn by a crash
            yield msgspec.json.decode(content, type=Exchange)
        except (zlib.error, msgspec.DecodeError) as error:
            raise GatewayError(
                f"{path}: exchange {number} is damaged: {error}\n  record it again, or replay from a copy"
            ) from error
        rest = unpacker.unused_data


def read_cassettes(folder: Path) -> tuple[Exchange, ...]:
    """All exchanges of a folder. GatewayError if there are none."""
    files = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
    found = tuple(exchange for path in files for exchange in read_exchanges(path))
    if not found:
        raise GatewayError(
            f"there is nothing to replay in {folder}\n  a run that called a model leaves its cassettes in its folder"
        )
    return found


class Player:
    """Finds recorded answers. The n-th time that a cell asks the same, it gets the n-th answer that was recorded
    for it in that cell, or else in any cell; the last one again, once there are no more.
    """

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._all = tuple(exchanges)
        self._by_key: dict[str, list[Exchange]] = {}
        self._asked: dict[tuple[str, str], int] = {}
        for exchange in self._all:
            self._by_key.setdefault(exchange.key, []).append(exchange)

    def find(
        self, cell: str, protocol: ModelProtocol, path: str, canonical: dict[str, Any]
    ) -> Exchange | Miss:
        """The answer to a request in canonical form."""
        key = request_key(protocol, path, canonical)
        recorded = self._by_key.get(key)
        if not recorded:
            return Miss(self._miss(protocol, path, canonical))
        number = self._asked.get((cell, key), 0)
        self._asked[cell, key] = number + 1
        own = [exchange for exchange in recorded if exchange.cell == cell] or recorded
        return own[min(number, len(own) - 1)]

    def _miss(self, protocol: ModelProtocol, path: str, canonical: dict[str, Any]) -> str:
        """Which recorded request is nearest, and where the two part."""
        alike = [each for each in self._all if each.protocol == protocol and each.path == path]
        if not alike:
            return f"nothing was recorded for {path}"
        wanted = canonical_json(canonical)
        nearest = max(alike, key=lambda each: _alike(wanted, canonical_json(each.request)))
        difference = first_difference(nearest.request, canonical)
        where = f"request {nearest.seq} of {nearest.cell}"
        told = difference.sentence() if difference else "its canonical form is the same"
        return f"this request was not recorded; the nearest is {where}, {told}"


def _alike(one: bytes, other: bytes) -> int:
    """How many bytes at the beginning are equal: by halving, because the texts are long."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low

"""Reading the delivery notes of suppliers: CSV with a heading, one product per line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from larder.errors import LarderError, ParseError
from larder.money import Money
from larder.quantity import Quantity

REQUIRED = ("sku", "quantity", "price")
OPTIONAL = ("expires", "batch")
DELIMITERS = ",;\t"

Row = tuple[int, list[str]]


@dataclass(frozen=True)
class DeliveryLine:
    """One product of a delivery; `line` is where it stood in the file."""

    line: int
    sku: str
    quantity: Quantity
    price: Money
    expires: date | None
    batch: str


@dataclass(frozen=True)
class Delivery:
    """What could be read, and what could not."""

    lines: tuple[DeliveryLine, ...]
    problems: tuple[ParseError, ...]

    @property
    def complete(self) -> bool:
        return not self.problems


def read_delivery(path: Path) -> Delivery:
    """Read a delivery note; a file that is not UTF-8 is refused."""
    try:
        content = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ParseError(f"{path.name} is not UTF-8") from error
    return parse_delivery(content)


def parse_delivery(content: str) -> Delivery:
    """All lines that can be used, and a problem for each that cannot.

    Without a usable heading, or with broken quotes, nothing can be used: `ParseError`.
    """
    lines: list[DeliveryLine] = []
    problems: list[ParseError] = []
    heading, body = split(content)
    for number, cells in body:
        try:
            lines.append(parse_line(number, by_name(number, heading, cells)))
        except ParseError as error:
            problems.append(error)
    return Delivery(tuple(lines), tuple(problems))


def split(content: str) -> tuple[list[str], Iterator[Row]]:
    """The names of the columns, and the rows that are not blank."""
    body = rows(content)
    first = next(body, None)
    if first is None:
        raise ParseError("the delivery note is empty")
    heading = [name.lower() for name in first[1]]
    check_heading(heading)
    return heading, body


def rows(content: str) -> Iterator[Row]:
    """The cells of each row that is not blank, with the number of the line it ends on."""
    delimiter = guess_delimiter(content.lstrip().partition("\n")[0])
    reader = csv.reader(io.StringIO(content), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise ParseError(str(error), reader.line_num) from error


def by_name(number: int, heading: list[str], cells: list[str]) -> dict[str, str]:
    """The cells of one row by the name of their column."""
    if len(cells) != len(heading):
        raise ParseError(f"{len(cells)} cells under {len(heading)} headings", number)
    return dict(zip(heading, cells, strict=True))


def guess_delimiter(heading: str) -> str:
    """The delimiter that the heading has most of."""
    return max(DELIMITERS, key=heading.count)


def check_heading(heading: list[str]) -> None:
    missing = [name for name in REQUIRED if name not in heading]
    if missing:
        raise ParseError(f"missing columns: {', '.join(missing)}", 1)
    unknown = [name for name in heading if name not in REQUIRED + OPTIONAL]
    if unknown:
        raise ParseError(f"unknown columns: {', '.join(unknown)}", 1)
    if len(set(heading)) < len(heading):
        raise ParseError("a column appears twice", 1)


def parse_line(number: int, row: Mapping[str, str]) -> DeliveryLine:
    """One line; the problem names the line and the cell."""
    try:
        quantity = Quantity.parse(row["quantity"])
        price = Money.parse(row["price"])
        expires = parse_date(row.get("expires", ""))
    except LarderError as error:
        raise ParseError(str(error), number) from error
    if not quantity.is_positive:
        raise ParseError(f"{quantity} is not a delivery", number)
    batch = row.get("batch") or f"L{number:04d}"
    return DeliveryLine(number, row["sku"].upper(), quantity, price, expires, batch)


def parse_date(content: str) -> date | None:
    """A date such as 2026-03-01; an empty cell is no date."""
    if not content:
        return None
    try:
        return date.fromisoformat(content)
    except ValueError as error:
        raise ParseError(f"{content!r} is not a date") from error


def write_delivery(lines: Iterable[DeliveryLine]) -> str:
    """The inverse of `parse_delivery`, with every optional column."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(REQUIRED + OPTIONAL)
    for line in lines:
        expires = "" if line.expires is None else line.expires.isoformat()
        writer.writerow((line.sku, line.quantity, line.price, expires, line.batch))
    return stream.getvalue()

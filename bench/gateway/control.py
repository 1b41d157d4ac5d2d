"""What a run and its gateway say to each other, one JSON object a line. The key goes only this way."""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from bench.gateway.model import Ceiling, GatewayConfig, RequestRecord, TokenUsage
from bench.gateway.script import Script


class Begin(Struct, frozen=True, kw_only=True, tag="begin", tag_field="say"):
    """The first words of the run: all that the gateway depends on."""

    config: GatewayConfig
    key: str
    secrets: tuple[str, ...]
    script: Script | None


class OpenCell(Struct, frozen=True, kw_only=True, tag="open", tag_field="say"):
    """Listen for a cell on the socket `name` in `folder`."""

    id: int
    cell: str
    task: str
    folder: str
    name: str


class BeginSession(Struct, frozen=True, kw_only=True, tag="session", tag_field="say"):
    """The cell's next requests belong to this session, which may ask for so many answers."""

    id: int
    cell: str
    session: str
    turns: int | None = None


class CloseCell(Struct, frozen=True, kw_only=True, tag="close", tag_field="say"):
    """Stop listening, end what is under way, remove the socket."""

    id: int
    cell: str


class Granted(Struct, frozen=True, kw_only=True, tag="granted", tag_field="say"):
    """The answer to `Reserve`: no reason, or why not."""

    hold: int
    refused: str | None = None


class Done(Struct, frozen=True, kw_only=True, tag="done", tag_field="say"):
    """An order was carried out, or why not."""

    id: int
    error: str | None = None


class Reserve(Struct, frozen=True, kw_only=True, tag="reserve", tag_field="say"):
    """May this be spent?"""

    hold: int
    cell: str
    session: str
    ceiling: Ceiling


class Settle(Struct, frozen=True, kw_only=True, tag="settle", tag_field="say"):
    """What was used of a hold; None charges all of it."""

    hold: int
    usage: TokenUsage | None


class Recorded(Struct, frozen=True, kw_only=True, tag="recorded", tag_field="say"):
    """One request is over."""

    cell: str
    record: RequestRecord


FromRun = Begin | OpenCell | BeginSession | CloseCell | Granted
FromGateway = Done | Reserve | Settle | Recorded


def line_of(message: FromRun | FromGateway) -> bytes:
    """A message as it is sent."""
    return msgspec.json.encode(message) + b"\n"


class Lines:
    """Cuts what arrives into lines."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that are whole now."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            yield b"".join((*self._parts, end))
            self._parts.clear()
        if rest:
            self._parts.append(rest)

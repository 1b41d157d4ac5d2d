"""What pays for requests, as the gateway sees it: a ceiling is held before a request goes out, and settled after."""

from typing import Protocol

from msgspec import Struct

from bench.gateway.model import Ceiling, TokenUsage


class Hold(Protocol):
    """The ceiling of one request, held back until it is settled."""

    def settle(self, usage: TokenUsage | None) -> None:
        """Charge what was used, and free the rest; None charges the whole ceiling. Called exactly once."""
        ...


class Refused(Struct, frozen=True):
    """The purse does not pay; the agent is told `reason`."""

    reason: str


class Purse(Protocol):
    """Pays for the requests of one cell. Called from the gateway's own thread, one call after the other."""

    def reserve(self, ceiling: Ceiling) -> Hold | Refused:
        """Hold the ceiling back, or refuse; nothing is forwarded before."""
        ...


class _Free:
    def settle(self, usage: TokenUsage | None) -> None:
        pass


class UnlimitedPurse:
    """Pays for everything, for runs without a budget."""

    def reserve(self, ceiling: Ceiling) -> Hold:  # noqa: ARG002 - whatever it is
        """Always pays."""
        return _Free()

"""What a finished exchange is charged, and what went wrong with it first. Pure."""

from typing import Any, Literal

from msgspec import Struct

from bench.gateway.model import Cause, Ceiling, ModelProtocol, TokenUsage
from bench.gateway.reading import Reading
from bench.gateway.usage import normalise

# Answers with these were never carried out. Others (502, 504 of some proxy) may hide a request that was.
_NOT_CHARGED = frozenset({*range(400, 500), 500, 503, 529})
# Redirects are not followed: they lead away from the address that the key is meant for.
FIRST_ERROR = 300
_KEY_REFUSED = (401, 403)


class Settlement(Struct, frozen=True, kw_only=True):
    """How one exchange ends in the books."""

    native: dict[str, Any] | None
    usage: TokenUsage | None
    charged: Literal["actual", "ceiling", "nothing"]
    cause: Cause | None
    detail: str


def settle_answer(
    protocol: ModelProtocol, status: int, reading: Reading, ceiling: Ceiling, detail: str
) -> Settlement:
    """The settlement of an answer that came to an end. `detail` tells of an error status."""
    if status >= FIRST_ERROR:
        return _failed(status, detail)
    normal = normalise(protocol, reading.native, complete=reading.complete)
    usage, cause, told = normal.usage, reading.cause, reading.detail
    if cause is None and normal.fault:
        cause, told = "usage-semantics", normal.fault
    known = reading.complete and usage.total_input is not None and usage.output is not None
    if cause is None and known and (excess := _excess(usage, ceiling)):
        cause, told = "above-ceiling", excess
    charged: Literal["actual", "ceiling"] = "actual" if known else "ceiling"
    return Settlement(native=reading.native, usage=usage, charged=charged, cause=cause, detail=told)


def settle_broken(protocol: ModelProtocol, reading: Reading | None, *, sent: bool) -> Settlement:
    """The settlement of an exchange that broke; nothing is charged only if nothing was sent."""
    if not sent:
        return Settlement(native=None, usage=None, charged="nothing", cause=None, detail="")
    native = reading.native if reading else None
    usage = normalise(protocol, native, complete=False).usage
    return Settlement(native=native, usage=usage, charged="ceiling", cause=None, detail="")


def _failed(status: int, detail: str) -> Settlement:
    charged: Literal["nothing", "ceiling"] = "nothing" if status in _NOT_CHARGED else "ceiling"
    return Settlement(
        native=None,
        usage=None if charged == "nothing" else TokenUsage(),
        charged=charged,
        cause="key-refused" if status in _KEY_REFUSED else "provider-error",
        detail=detail,
    )


def _excess(usage: TokenUsage, ceiling: Ceiling) -> str:
    """In what a provider states more than a request could use."""
    pairs = (
        ("input", usage.total_input, ceiling.input_tokens),
        ("output", usage.output, ceiling.output_tokens),
    )
    return "; ".join(
        f"{stated} {name} tokens are stated, {most} were the most"
        for name, stated, most in pairs
        if stated is not None and stated > most
    )

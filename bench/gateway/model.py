"""What the gateway says and is told, as plain values: protocols, tokens, ceilings, the record of a request."""

from typing import Any, Literal

from msgspec import Struct

ModelProtocol = Literal["anthropic_messages", "openai_responses", "openai_chat"]
UpstreamKind = Literal["anthropic", "openai", "openai_compatible", "scripted", "replay"]

# Which protocols an upstream speaks itself: nothing is translated.
SPOKEN: dict[UpstreamKind, frozenset[ModelProtocol]] = {
    "anthropic": frozenset({"anthropic_messages"}),
    "openai": frozenset({"openai_responses", "openai_chat"}),
    "openai_compatible": frozenset({"anthropic_messages", "openai_responses", "openai_chat"}),
    "scripted": frozenset({"anthropic_messages", "openai_responses", "openai_chat"}),
    "replay": frozenset({"anthropic_messages", "openai_responses", "openai_chat"}),
}

# The first cause of a request that did not simply go well.
Cause = Literal[
    "budget", "unbounded", "too-many-requests", "too-large", "slow-request", "bad-request", "unknown-path",
    "not-served", "distrusted", "throttled", "client-left", "stopped",
    "key-refused", "provider-error", "unreachable", "connection-dropped", "stream-cut",
    "not-the-protocol", "malformed", "two-terminals", "usage-semantics", "above-ceiling",
    "replay-miss", "no-scripted-reply",
]  # fmt: skip

# What the gateway itself refused: nothing of it went to an upstream.
REFUSALS: frozenset[Cause] = frozenset(
    {
        "budget", "unbounded", "too-many-requests", "too-large", "slow-request", "bad-request",
        "unknown-path", "not-served", "distrusted", "throttled",
    }
)  # fmt: skip


class TokenUsage(Struct, frozen=True, kw_only=True):
    """Tokens of one request or of several. None is unknown, never zero.

    `input` is what was neither read from nor written to a cache; `total_input` is all of it. `cache_write_hour`
    is the part of `cache_write` that is kept for an hour and costs more; `reasoning` is a part of `output`.
    """

    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_hour: int | None = None
    total_input: int | None = None
    output: int | None = None
    reasoning: int | None = None


NOTHING_USED = TokenUsage(
    input=0, cache_read=0, cache_write=0, cache_write_hour=0, total_input=0, output=0, reasoning=0
)


class Ceiling(Struct, frozen=True, kw_only=True):
    """The most that one request can be charged for: every input token may be of the dearest kind."""

    model: str
    input_tokens: int
    output_tokens: int


class ServedModel(Struct, frozen=True, kw_only=True):
    """A model that cells may ask for: the tokens of its context window, and the most that it writes in one answer."""

    id: str
    context: int | None = None
    most_output: int | None = None


class UpstreamConfig(Struct, frozen=True, kw_only=True):
    """Where requests go. `key` names an environment variable, as secret://env/NAME. `base_url` ends in the version,
    as https://host/v1. `idle_seconds` is the longest silence of an answer.
    """

    kind: UpstreamKind
    base_url: str | None = None
    key: str | None = None
    requests_per_minute: float | None = None
    burst: int = 8
    connect_seconds: float = 10.0
    idle_seconds: float = 600.0


class GatewayLimits(Struct, frozen=True, kw_only=True):
    """What one cell may ask of the gateway: sizes are bytes. A request's head and the pieces of its body must
    arrive within `patience` seconds each. After so many `distrusted` answers of a session in a row, each charged in
    full, nothing of it is passed on any more: an agent may ask without a pause and without an end.
    """

    request_bytes: int = 32 * 1024 * 1024
    requests: int = 5000
    connections: int = 64
    patience: float = 30.0
    longest_wait: float = 60.0
    distrusted: int = 8


class GatewayConfig(Struct, frozen=True, kw_only=True):
    """All that a gateway depends on. `script` is a file of replies, `cassettes` a folder to replay from, `record`
    one to write to; None records nothing.
    """

    upstream: UpstreamConfig
    models: tuple[ServedModel, ...]
    record: str | None
    script: str | None = None
    cassettes: str | None = None
    limits: GatewayLimits = GatewayLimits()


class RequestRecord(Struct, frozen=True, kw_only=True):
    """One request of a cell. `native` is the usage as the provider stated it; `usage` is None where nothing can
    have been charged, and unknown in what was not stated. `settled` says what the budget was charged.
    """

    seq: int
    session: str
    protocol: ModelProtocol | None
    path: str
    model: str | None
    served: str | None = None
    status: int | None = None
    native: dict[str, Any] | None = None
    usage: TokenUsage | None = None
    ceiling: Ceiling | None = None
    settled: Literal["actual", "ceiling", "nothing"] | None = None
    first_byte_ms: float | None = None
    last_byte_ms: float | None = None
    ms: float
    bytes_in: int
    bytes_out: int
    cause: Cause | None = None
    detail: str = ""


def sum_tokens(usages: list[TokenUsage]) -> TokenUsage:
    """The sum, field by field; a field that is unknown in one of them is unknown in the sum."""
    columns = {name: [getattr(each, name) for each in usages] for name in TokenUsage.__struct_fields__}
    return TokenUsage(**{name: None if None in values else sum(values) for name, values in columns.items()})

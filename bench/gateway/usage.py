"""The arithmetic of tokens: what a provider states, made comparable. A guess is never made."""

from collections.abc import Mapping
from typing import Any, assert_never

from msgspec import Struct

from bench.gateway.model import ModelProtocol, TokenUsage

_NO_USAGE: Mapping[str, Any] = {}


class Normalised(Struct, frozen=True):
    """Comparable usage, and what contradicts itself in the native one."""

    usage: TokenUsage
    fault: str = ""


def normalise(protocol: ModelProtocol, native: Mapping[str, Any] | None, *, complete: bool) -> Normalised:
    """Native usage in comparable form. Of an answer that was cut, what it stated of its input is kept, and its
    output is unknown: the number that it had stated was not its last.
    """
    stated = native if native is not None else _NO_USAGE
    match protocol:
        case "anthropic_messages":
            found = _anthropic(stated)
        case "openai_responses":
            found = _openai(stated, "input_tokens", "output_tokens")
        case "openai_chat":
            found = _openai(stated, "prompt_tokens", "completion_tokens")
        case _:
            assert_never(protocol)
    return found if complete else Normalised(_without_output(found.usage), found.fault)


def count(value: Any) -> int | None:
    """A number of tokens, or None for anything that is none: absent, null, boolean, negative, not whole."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _anthropic(native: Mapping[str, Any]) -> Normalised:
    """`input_tokens` is the uncached remainder; the total needs all three parts."""
    ordinary = count(native.get("input_tokens"))
    written = count(native.get("cache_creation_input_tokens"))
    read = count(native.get("cache_read_input_tokens"))
    split = _part(native, "cache_creation")
    output = _part(native, "output_tokens_details")
    return Normalised(
        TokenUsage(
            input=ordinary,
            cache_read=read,
            cache_write=written,
            cache_write_hour=0 if written == 0 else count(split.get("ephemeral_1h_input_tokens")),
            total_input=_sum(ordinary, written, read),
            output=count(native.get("output_tokens")),
            reasoning=count(output.get("thinking_tokens")),
        )
    )


def _openai(native: Mapping[str, Any], whole_name: str, output_name: str) -> Normalised:
    """The input is the whole, of which what was cached is a part. These protocols know no other cache writes than
    those that they state, so that an absent field is 0 there, and only there.
    """
    whole, output = count(native.get(whole_name)), count(native.get(output_name))
    parts = _part(native, f"{whole_name}_details")
    cached = count(parts.get("cached_tokens"))
    written = count(parts.get("cache_write_tokens", 0))
    ordinary = None if whole is None or cached is None or written is None else whole - cached - written
    fault = "" if ordinary is None or ordinary >= 0 else _contradiction(whole_name, whole, cached, written)
    usage = TokenUsage(
        input=None if fault else ordinary,
        cache_read=cached,
        cache_write=written,
        cache_write_hour=0 if written is not None else None,
        total_input=None if fault else whole,
        output=output,
        reasoning=count(_part(native, f"{output_name}_details").get("reasoning_tokens")),
    )
    return Normalised(usage, fault)


def _contradiction(name: str, whole: int | None, cached: int | None, written: int | None) -> str:
    return f"{name} is {whole}, less than its cached {cached} and written {written} tokens"


def _part(native: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = native.get(name)
    return part if isinstance(part, dict) else _NO_USAGE


def _sum(*values: int | None) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _without_output(usage: TokenUsage) -> TokenUsage:
    return TokenUsage(
        input=usage.input,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        cache_write_hour=usage.cache_write_hour,
        total_input=usage.total_input,
    )

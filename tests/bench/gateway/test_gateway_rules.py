"""Ceilings, allowances, masks, throttles: the rules without a shell."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from gateway_rig import MODEL, PROTOCOLS, request
from hypothesis import given
from hypothesis import strategies as st

from bench.gateway import (
    Allowance,
    Ceiling,
    Limit,
    ModelProtocol,
    Rates,
    Refused,
    ServedModel,
    TokenTariff,
    TokenUsage,
)
from bench.gateway.bounds import HIDDEN_TOKENS, Unbounded, parse_request, prove
from bench.gateway.mask import KeyMask
from bench.gateway.throttle import Throttle, retry_after

MODELS = {MODEL.id: MODEL}
LIMITS: dict[ModelProtocol, tuple[str, ...]] = {
    "anthropic_messages": ("max_tokens",),
    "openai_responses": ("max_output_tokens",),
    "openai_chat": ("max_completion_tokens", "max_tokens"),
}


def proof(protocol: ModelProtocol, asked: dict[str, Any], models: dict[str, ServedModel] = MODELS) -> Any:
    body = json.dumps(asked).encode()
    parsed = parse_request(body)
    return parsed if isinstance(parsed, Unbounded) else prove(protocol, body, parsed, models)


def without_limit(protocol: ModelProtocol) -> dict[str, Any]:
    asked = request(protocol)
    return {name: value for name, value in asked.items() if name not in LIMITS[protocol]}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(text=st.text(max_size=300))
def test_a_ceiling_holds_a_token_for_every_byte_and_the_limit_of_output(
    protocol: ModelProtocol, text: str
) -> None:
    asked = request(protocol, text)
    ceiling = proof(protocol, asked)
    assert ceiling.input_tokens >= len(text.encode("utf-8", "surrogatepass"))
    assert ceiling.input_tokens == len(json.dumps(asked).encode()) + HIDDEN_TOKENS
    assert ceiling.output_tokens == 100


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_request_without_a_limit_gets_the_models_and_is_refused_where_that_is_unknown(
    protocol: ModelProtocol,
) -> None:
    assert proof(protocol, without_limit(protocol)).output_tokens == MODEL.most_output
    refused = proof(protocol, without_limit(protocol), {MODEL.id: ServedModel(id=MODEL.id)})
    assert refused.cause == "unbounded"
    assert LIMITS[protocol][0] in refused.reason


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("bad", [0, -1, True, "many", 1.5, [], {}])
def test_a_limit_that_is_no_positive_integer_is_refused(protocol: ModelProtocol, bad: Any) -> None:
    assert proof(protocol, request(protocol) | {LIMITS[protocol][0]: bad}).cause == "bad-request"


def test_of_two_limits_the_greater_counts_and_every_answer_of_n() -> None:
    asked = request("openai_chat", max_tokens=700, n=3)
    assert proof("openai_chat", asked).output_tokens == 2100


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"model-1","max_tokens":1,"max_tokens":9000}',
        b'{"model":"model-1","max_tokens":1,"max\\u005ftokens":9000}',
        b'{"model":"model-1","n":1,"max_tokens":1,"n":50}',
        b'{"model":"model-1", "messages": [], "stream" : true, "stream":false}',
    ],
)
def test_names_that_two_readers_could_understand_differently_are_refused(body: bytes) -> None:
    refused = parse_request(body)
    assert isinstance(refused, Unbounded)
    assert refused.cause == "bad-request"


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'"x"', b"NaN"])
def test_what_is_no_object_is_refused_and_never_raises(body: bytes) -> None:
    assert isinstance(parse_request(body), Unbounded)


@pytest.mark.parametrize(
    ("protocol", "more"),
    [
        ("anthropic_messages", {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
        ("anthropic_messages", {"tools": [{"type": "code_execution_20250522", "name": "x"}]}),
        ("anthropic_messages", {"mcp_servers": [{"url": "https://x"}]}),
        ("anthropic_messages", {"speed": "fast"}),
        ("openai_responses", {"tools": [{"type": "web_search"}]}),
        ("openai_responses", {"previous_response_id": "resp_1"}),
        ("openai_responses", {"background": True}),
        ("openai_responses", {"service_tier": "priority"}),
        ("openai_responses", {"input": [{"type": "item_reference", "id": "x"}]}),
        (
            "openai_responses",
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]},
        ),
        ("openai_chat", {"web_search_options": {"x": 1}}),
        (
            "openai_chat",
            {"messages": [{"content": [{"type": "image_url", "image_url": {"url": "http://x/y.png"}}]}]},
        ),
        (
            "anthropic_messages",
            {"messages": [{"content": [{"type": "image", "source": {"type": "url", "url": "https://x"}}]}]},
        ),
        (
            "anthropic_messages",
            {"messages": [{"content": [{"type": "document", "source": {"type": "file", "file_id": "f"}}]}]},
        ),
    ],
)
def test_what_reaches_beyond_the_request_is_refused(protocol: ModelProtocol, more: dict[str, Any]) -> None:
    assert proof(protocol, request(protocol) | more).cause == "unbounded"


@pytest.mark.parametrize("kind", [None, "custom", "function", "bash_20250124", "text_editor_20250728"])
def test_tools_that_the_agent_carries_out_pass(kind: str | None) -> None:
    tool = {"name": "t"} if kind is None else {"name": "t", "type": kind}
    assert isinstance(proof("anthropic_messages", request("anthropic_messages", tools=[tool])), Ceiling)


def test_a_picture_counts_as_a_full_context_window() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    asked = request("anthropic_messages") | {"messages": [{"role": "user", "content": [picture]}]}
    assert proof("anthropic_messages", asked).input_tokens == MODEL.context
    unknown = {MODEL.id: ServedModel(id=MODEL.id, most_output=1)}
    assert proof("anthropic_messages", asked, unknown).cause == "unbounded"


def test_another_model_is_refused() -> None:
    assert proof("openai_chat", request("openai_chat") | {"model": "other"}).cause == "not-served"


counts = st.one_of(st.none(), st.integers(0, 10_000))
usages = st.one_of(
    st.none(),
    st.builds(
        TokenUsage, input=counts, cache_read=counts, cache_write=counts, cache_write_hour=counts,
        total_input=counts, output=counts,
    ),
)  # fmt: skip
rates = st.builds(
    Rates, input=st.integers(0, 50), output=st.integers(0, 99), cache_read=st.one_of(st.none(), st.integers(0, 9)),
    cache_write=st.one_of(st.none(), st.integers(0, 90)), cache_write_hour=st.one_of(st.none(), st.integers(0, 99)),
)  # fmt: skip
steps = st.lists(st.tuples(st.integers(1, 2000), st.integers(1, 2000), usages, st.booleans()), max_size=30)


@given(st.integers(0, 300_000), rates, steps)
def test_settled_and_held_never_pass_the_limit_whatever_a_provider_states(
    most: int, rate: Rates, asked: Any
) -> None:
    purse = Allowance([Limit("money", most, rate), Limit("tokens", most, TokenTariff())])
    waiting = []
    for size, output, usage, later in asked:
        hold = purse.reserve(Ceiling(model="m", input_tokens=size, output_tokens=output))
        if not isinstance(hold, Refused):
            waiting.append((hold, usage))
        if waiting and not later:
            settled, stated = waiting.pop()
            settled.settle(stated)
        assert all(purse.held[name] + purse.settled[name] <= most for name in purse.held)
        assert all(amount >= 0 for amount in purse.held.values())


def test_a_refused_ceiling_holds_nothing_under_any_limit() -> None:
    purse = Allowance([Limit("tokens", 100, TokenTariff()), Limit("money", 1, Rates(input=1, output=1))])
    refused = purse.reserve(Ceiling(model="m", input_tokens=5, output_tokens=5))
    assert isinstance(refused, Refused)
    assert "money" in refused.reason
    assert purse.held == {"tokens": 0, "money": 0}


def test_the_cost_of_a_usage_is_exact_and_unknown_where_a_part_is() -> None:
    rate = Rates(input=10, output=100, cache_read=1, cache_write=12, cache_write_hour=20)
    usage = TokenUsage(input=1, cache_read=2, cache_write=5, cache_write_hour=3, total_input=8, output=4)
    assert rate.cost(usage) == 10 + 2 + 3 * 20 + 2 * 12 + 400
    assert rate.cost(TokenUsage(input=1, cache_read=2, cache_write=5, output=4)) == 10 + 2 + 5 * 20 + 400
    assert rate.cost(TokenUsage(input=1, cache_write=0, output=4)) is None
    assert Rates(input=1, output=1).cost(TokenUsage(input=1, cache_read=0, cache_write=0, output=1)) == 2
    assert Rates(input=1, output=1).cost(TokenUsage(input=1, cache_read=3, cache_write=0, output=1)) is None


@given(st.data())
def test_a_mask_hides_the_key_wherever_pieces_split_and_changes_nothing_else(data: st.DataObject) -> None:
    key = data.draw(st.text("ab", min_size=1, max_size=6))
    text = data.draw(st.lists(st.sampled_from(["a", "b", "c", key])).map("".join)).encode()
    mask, cut, out = KeyMask(key), sorted(data.draw(st.lists(st.integers(0, len(text))))), b""
    for start, end in zip([0, *cut], [*cut, len(text)], strict=True):
        out += mask.feed(text[start:end])
    out += mask.rest()
    assert out == text.replace(key.encode(), b"*" * len(key))


def test_a_throttle_lets_a_burst_pass_and_then_one_by_one() -> None:
    now = [0.0]
    throttle = Throttle(60, 2, lambda: now[0])
    assert [throttle.take(99) for _ in range(4)] == [0.0, 0.0, 1.0, 2.0]
    now[0] = 60.0
    assert throttle.take(99) == 0.0


def test_a_pause_that_is_too_long_to_wait_for_takes_no_place() -> None:
    throttle = Throttle(None, 1, lambda: 100.0)
    throttle.pause(30)
    assert throttle.take(10) is None
    assert throttle.take(40) == 30.0


def test_retry_after_is_seconds_or_a_date() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert retry_after("3", now) == 3.0
    assert retry_after("Thu, 01 Jan 2026 00:00:09 GMT", now) == 9.0
    assert retry_after("Thu, 01 Jan 2020 00:00:09 GMT", now) == 0.0
    assert retry_after("soon", now) is None
    assert retry_after("", now) is None

"""The arithmetic of tokens."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.gateway.model import ModelProtocol, TokenUsage, sum_tokens
from bench.gateway.usage import normalise

tokens = st.integers(0, 10**9)
no_count = st.one_of(st.none(), st.booleans(), st.integers(max_value=-1), st.floats(), st.text(), st.just([]))
ANTHROPIC = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
OPENAI: dict[ModelProtocol, tuple[str, str]] = {
    "openai_responses": ("input_tokens", "output_tokens"),
    "openai_chat": ("prompt_tokens", "completion_tokens"),
}


@given(tokens, tokens, tokens, tokens)
def test_anthropic_input_is_the_remainder_and_the_total_is_the_sum(a: int, b: int, c: int, d: int) -> None:
    native = dict(zip(ANTHROPIC, (a, b, c), strict=True)) | {"output_tokens": d}
    usage = normalise("anthropic_messages", native, complete=True).usage
    assert (usage.input, usage.cache_write, usage.cache_read, usage.output) == (a, b, c, d)
    assert usage.total_input == a + b + c


@given(st.sampled_from(ANTHROPIC), tokens, no_count)
def test_anthropic_total_needs_all_three_parts(name: str, number: int, bad: Any) -> None:
    native: dict[str, Any] = dict.fromkeys(ANTHROPIC, number) | {"output_tokens": 1}
    for broken in (native | {name: bad}, {key: value for key, value in native.items() if key != name}):
        usage = normalise("anthropic_messages", broken, complete=True).usage
        assert usage.total_input is None
        assert usage.output == 1


@pytest.mark.parametrize("protocol", OPENAI)
@given(tokens, tokens)
def test_openai_input_is_the_whole_and_less_than_its_part_is_a_contradiction(
    protocol: ModelProtocol, whole: int, cached: int
) -> None:
    name, output = OPENAI[protocol]
    native = {name: whole, f"{name}_details": {"cached_tokens": cached}, output: 3}
    found = normalise(protocol, native, complete=True)
    if cached <= whole:
        assert (found.usage.input, found.usage.total_input, found.fault) == (whole - cached, whole, "")
    else:
        assert (found.usage.input, found.usage.total_input) == (None, None)
        assert found.fault


@pytest.mark.parametrize("protocol", OPENAI)
@given(no_count)
def test_openai_fields_that_are_no_counts_are_unknown(protocol: ModelProtocol, bad: Any) -> None:
    name, output = OPENAI[protocol]
    without = normalise(protocol, {name: 5, output: bad}, complete=True).usage
    assert (without.input, without.cache_read, without.output) == (None, None, None)
    assert without.total_input == 5
    broken = normalise(protocol, {name: 5, f"{name}_details": {"cached_tokens": bad}}, complete=True).usage
    assert broken.input is None


def test_a_present_zero_is_zero() -> None:
    native = dict.fromkeys((*ANTHROPIC, "output_tokens"), 0)
    usage = normalise("anthropic_messages", native, complete=True).usage
    assert (usage.total_input, usage.output, usage.cache_write_hour) == (0, 0, 0)


@pytest.mark.parametrize("protocol", ["anthropic_messages", *OPENAI])
def test_no_usage_at_all_is_unknown_in_everything(protocol: ModelProtocol) -> None:
    usage = normalise(protocol, None, complete=True).usage
    assert (usage.input, usage.total_input, usage.output, usage.cache_read) == (None, None, None, None)


def test_of_a_cut_answer_the_stated_input_is_kept_and_the_output_is_unknown() -> None:
    native = dict.fromkeys(ANTHROPIC, 7) | {"output_tokens": 1}
    usage = normalise("anthropic_messages", native, complete=False).usage
    assert (usage.total_input, usage.output) == (21, None)


@given(st.lists(st.one_of(st.none(), tokens)))
def test_a_sum_with_an_unknown_is_unknown(outputs: list[int | None]) -> None:
    total = sum_tokens([TokenUsage(output=each) for each in outputs]).output
    assert total == (None if None in outputs else sum(each for each in outputs if each is not None))

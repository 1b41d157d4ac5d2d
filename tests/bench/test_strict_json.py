import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.strict_json import parse_json

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)  # fmt: skip


@given(PLAIN)
def test_whatever_was_written_is_read_as_it_was(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value
    assert parse_json(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "x": 2, "a": 3}}]', '{"a": 1, "\\u0061": 2}']
)
def test_a_key_that_is_there_twice_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(ValueError, match="the key 'a' is there twice"):
        parse_json(text)


def test_one_key_in_several_objects_is_no_repetition() -> None:
    assert parse_json('[{"a": {"a": 1}}, {"a": 2}]') == [{"a": {"a": 1}}, {"a": 2}]


@pytest.mark.parametrize(
    "text", ["", "NaN", "[Infinity]", '{"a": 1', '"\\ud800"', "{'a': 1}", b"\xff", b'"\xed\xa0\x80"', "1 2"]
)
def test_what_is_no_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)

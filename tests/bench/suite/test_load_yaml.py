"""Strict YAML and JSON: nothing turns into something that was not written."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bench.suite import Refused, read_json, read_yaml

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("0", 0),
        ("-17", -17),
        ("1.5", 1.5),
        ("2e3", 2000.0),
        ("yes", "yes"),
        ("No", "No"),
        ("on", "on"),
        ("True", "True"),
        ("0o17", "0o17"),
        ("017", "017"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2026-06-02", "2026-06-02"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1.", "1."),
        ("'true'", "true"),
        ('"1"', "1"),
        ("|\n  1\n", "1\n"),
        ("<<", "<<"),
    ],
)
def test_a_scalar_is_what_it_looks_like(text: str, value: Any) -> None:
    found = read_yaml(f"key: {text}", "f").value["key"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "f:1: is empty"),
        ("# nothing\n", "f:1: is empty"),
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "f:4: the key `c` is there already, in line 3"),
        ("a: &x 1\n", "f:1: is not valid YAML: anchors and aliases are not taken"),
        ("a: 1\nb: *x\n", "f:2: is not valid YAML: anchors and aliases are not taken"),
        ("a: !!python/name:os.system x\n", "f:1: is not valid YAML: tags are not taken"),
        ("a: !!str 1\n", "tags are not taken"),
        ("a: 1\n1: b\n", "f:2: a key must be text; put it in quotes"),
        ("true: b\n", "f:1: a key must be text"),
        ("? [a]\n: b\n", "f:1: a key must be text"),
        ("a: 1\n---\nb: 2\n", "f:2: is not valid YAML: but found another document"),
        ("a: 1\n b: 2\n", "f:2: is not valid YAML"),
        ("a: [1\n", "f:2: is not valid YAML"),
        ("a: \x00\n", "f:1: is not valid YAML"),
        ('a: "\\ud800"\n', "f:1: holds half of a surrogate pair"),
        ("[" * 1000, "nested more than 32 levels deep"),
    ],
)
def test_what_is_unclear_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(Refused) as caught:
        read_yaml(text, "f")
    assert said in str(caught.value)


def test_a_part_knows_its_line_and_a_missing_part_that_of_what_is_around_it() -> None:
    document = read_yaml("a:\n  - b: 1\n    c:\n      - x\n      - y\n", "f")
    assert document.place(("a", 0, "c", 1)) == "f:5"
    assert document.place(("a", 0, "c")) == "f:3"
    assert document.place(("a", 0, "none", "deeper")) == "f:2"
    assert document.part(("a", 0, "c", 1)) == "y"
    assert document.part(("a", 0, "none", "deeper")) is None


@given(PLAIN)
def test_yaml_that_a_dumper_wrote_reads_back(value: Any) -> None:
    text = yaml.safe_dump({"value": value}, default_flow_style=False)
    if "&" not in text:  # two equal empty lists are one object to the dumper
        assert read_yaml(text, "f").value == {"value": value}


@given(PLAIN, st.sampled_from([None, 1]))
def test_json_reads_as_the_standard_library_reads_it(value: Any, indent: int | None) -> None:
    text = json.dumps({"value": value}, indent=indent)
    assert read_json(text, "f").value == json.loads(text)


def test_the_lines_of_json_are_those_of_its_parts() -> None:
    document = read_json('{\n "a": [1,\n\n  {"b": "x\\n"}],\n "c": {}}', "f")
    parts: list[tuple[str | int, ...]] = [(), ("a",), ("a", 0), ("a", 1), ("a", 1, "b"), ("c",)]
    assert [document.line(path) for path in parts] == [1, 2, 2, 4, 4, 5]

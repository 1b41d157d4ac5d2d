"""Text for people."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.text import did_you_mean, printable

ANY_TEXT = st.text(st.characters(), max_size=20) | st.text(
    st.sampled_from("a\n\t\x00\x07\x1b\x7f\x9b\u061c\u200f\u202e\u2066\ud800\udcff"), max_size=20
)


@given(ANY_TEXT)
def test_printable_text_drives_no_terminal_and_can_always_be_written(text: str) -> None:
    shown = printable(text)

    assert not [each for each in shown if unicodedata.category(each) in ("Cc", "Cs") and each not in "\n\t"]
    shown.encode("utf-8")


@given(ANY_TEXT)
def test_printable_text_is_left_as_it_is(text: str) -> None:
    assert printable(printable(text)) == printable(text)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]) | st.sampled_from("\n\t"), max_size=30))
def test_ordinary_text_is_not_changed(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("over\rwritten", r"over\rwritten"),
        ("\u202eback", r"\u202eback"),
        ("\udcff", r"\udcff"),
    ],
)
def test_a_control_character_is_shown_as_its_escape(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_near_miss_is_suggested() -> None:
    assert did_you_mean("rulbook", ["command", "rulebook"]) == "; did you mean 'rulebook'?"


@given(st.text("xyz", max_size=5))
def test_nothing_is_suggested_that_is_not_near(word: str) -> None:
    assert did_you_mean(word, ["command", "rulebook"]) == ""


@given(st.text(max_size=8), st.lists(st.text(max_size=8), max_size=4))
def test_only_known_words_are_suggested(word: str, known: list[str]) -> None:
    suggestion = did_you_mean(word, known)

    assert suggestion == "" or any(f"mean {each!r}?" in suggestion for each in known)
    assert re.fullmatch(r"(; did you mean .*\?)?", suggestion, re.DOTALL)

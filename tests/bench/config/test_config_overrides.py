"""The grammar of overrides, and how a text is quoted for it."""

import contextlib
import shlex

from hypothesis import example, given
from hypothesis import strategies as st

from bench.config.complaint import dotted, parts
from bench.config.compose import _parsed
from bench.config.override import quoted
from bench.errors import ConfigError

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
WORD = st.from_regex(r"[A-Za-z_][\w-]{0,8}", fullmatch=True)


@given(TEXT)
@example("it's")
@example("\\")
@example("a\\'b\\\\")
@example('$HOME `x` "y" !')
def test_a_quoted_text_comes_through_shell_and_grammar_as_it_was(text: str) -> None:
    if "${secret:" in text:
        return
    (argument,) = shlex.split(quoted("model.id", text))
    assert _parsed(argument).value == text


@given(st.text(max_size=60))
def test_any_text_is_either_an_override_or_refused(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert _parsed(text).key


@given(st.lists(WORD | st.integers(0, 99), min_size=1))
def test_a_path_is_written_and_read_back(path: list[str | int]) -> None:
    assert parts(dotted(tuple(path))) == tuple(path)

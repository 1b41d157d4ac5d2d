"""Finding known texts in a stream: exactly those that are there, however the stream comes in pieces."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.suite import CommandOracle, Label, LabelOracle, OracleFile, Task, TreeSource
from bench.sweep.traces import LONGEST, SHORTEST, TextFinder, hidden_texts

# Few different bytes, so that texts overlap, repeat and nearly occur.
TEXTS = st.sets(
    st.binary(min_size=SHORTEST, max_size=40).map(lambda data: bytes(b"ab \0"[each % 4] for each in data)),
    max_size=6,
)
NOISE = st.binary(max_size=60).map(lambda data: bytes(b"ab \0"[each % 4] for each in data))


class Dribble(io.BytesIO):
    """A stream that gives at most seven bytes at once."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(7)


@given(texts=TEXTS, data=st.data())
def test_a_text_is_found_wherever_it_is_and_only_if_it_is_there(
    texts: set[bytes], data: st.DataObject
) -> None:
    parts = data.draw(st.lists(NOISE | st.sampled_from(sorted(texts)) if texts else NOISE, max_size=6))
    content = b"".join(parts)
    expected = {text for text in texts if text in content}
    assert TextFinder(texts).find(io.BytesIO(content)) == expected


@given(text=st.binary(min_size=SHORTEST, max_size=LONGEST), before=st.binary(max_size=300))
def test_a_text_is_found_across_the_pieces_of_a_stream(text: bytes, before: bytes) -> None:
    assert TextFinder([text]).find(Dribble(before + text)) == {text}


def task(oracle: CommandOracle | LabelOracle) -> Task:
    return Task(
        id="t",
        class_="trivial",
        split="train",
        source=TreeSource(Path("x"), "d"),
        change=None,
        prompt="p",
        setup="",
        verify="",
        oracle=oracle,
    )


def test_what_is_looked_for_are_long_lines_without_their_indent_and_long_labels() -> None:
    lines = [b"    short", b"    " + b"l" * SHORTEST + b"  ", b"m" * (SHORTEST - 1), b"n" * 10_000]
    command = CommandOracle("sh check", (OracleFile("check", b"\n".join(lines)),), "d", "d")
    label = Label("a-label-of-24-characters", "low", "a.py", 1, 1, "correctness")
    short = Label("short", "low", "a.py", 1, 1, "correctness")
    found = hidden_texts([task(command), task(LabelOracle((label, short), "d"))])
    assert found == {b"l" * SHORTEST, b"n" * LONGEST, b"a-label-of-24-characters"}


@pytest.mark.parametrize("size", [0, 7, 8, 23, 24, 25])
def test_the_ends_of_a_stream_are_looked_at(size: int) -> None:
    text = bytes(range(65, 65 + SHORTEST))
    assert TextFinder([text]).find(io.BytesIO(text + b"." * size)) == {text}
    assert TextFinder([text]).find(io.BytesIO(b"." * size + text)) == {text}
    assert TextFinder([text]).find(io.BytesIO(b"." * size + text[1:])) == frozenset()

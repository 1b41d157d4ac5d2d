"""Identity is content: what may change a digest, and what may not."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from bench.digest import (
    canonical_json,
    digest_bytes,
    digest_files,
    digest_frames,
    digest_json,
    digest_tree,
)

TEXTS = st.text(max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
FILES = st.dictionaries(st.text("ab/", min_size=1, max_size=4), st.binary(max_size=4), max_size=4)


def backwards(value: Any) -> Any:
    """The same value, every mapping filled in the opposite order."""
    if isinstance(value, dict):
        return {key: backwards(value[key]) for key in reversed(list(value))}
    return [backwards(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_canonical_json_does_not_depend_on_the_order_of_keys(value: Any) -> None:
    assert canonical_json(value) == canonical_json(backwards(value))


@given(VALUES)
def test_canonical_json_says_exactly_the_value(value: Any) -> None:
    assert json.loads(canonical_json(value)) == value


@given(st.dictionaries(st.text("abc", max_size=3), st.integers(), max_size=5))
def test_canonical_json_has_sorted_keys_and_no_blanks(value: dict[str, int]) -> None:
    expected = json.dumps(value, sort_keys=True, separators=(",", ":"))

    assert canonical_json(value) == expected.encode()


def test_text_is_written_as_utf_8() -> None:
    assert canonical_json({"é": "≤"}) == '{"é":"≤"}'.encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("place", ["itself", "in a list", "in a mapping", "in a tuple in a mapping"])
def test_a_number_that_json_cannot_write_is_refused_wherever_it_is(number: float, place: str) -> None:
    value = {
        "itself": number,
        "in a list": [1.0, number],
        "in a mapping": {"a": {"b": number}},
        "in a tuple in a mapping": {"a": (1, number)},
    }[place]

    with pytest.raises(ValueError, match="cannot be written as JSON"):
        canonical_json(value)


@given(st.integers(2**64) | st.integers(max_value=-(2**63) - 1))
def test_an_integer_of_any_size_is_written_and_hides_no_other_number(number: int) -> None:
    assert json.loads(canonical_json([number, 1.5])) == [number, 1.5]
    with pytest.raises(ValueError, match="cannot be written as JSON"):
        canonical_json([number, float("nan")])


@given(st.integers(0, 2**64 - 1), st.binary(max_size=4))
def test_what_only_looks_like_such_a_number_is_written(number: int, content: bytes) -> None:
    looks = b"\xcb\x7f\xf8" + content

    assert canonical_json([number, looks]) == b'[%d,"%s"]' % (number, base64.b64encode(looks))
    assert canonical_json(0xCB7FF8 << 32) == b"%d" % (0xCB7FF8 << 32)


class Point(Struct, frozen=True):
    y: int
    x: float


def test_a_struct_has_the_digest_of_its_plain_data() -> None:
    assert digest_json(Point(y=1, x=0.5)) == digest_json({"x": 0.5, "y": 1})


def test_a_struct_may_not_hold_nan_either() -> None:
    with pytest.raises(ValueError, match="nan"):
        canonical_json(Point(y=1, x=float("nan")))


def test_a_set_has_the_same_digest_in_every_process() -> None:
    program = "from bench.digest import digest_json; print(digest_json({'a', 'b', 'c', 'd', 'e'}))"
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PATH": os.defpath},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(digests) == 1


def test_the_digest_is_sha_256() -> None:
    assert digest_bytes(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@given(st.lists(st.binary(max_size=3), max_size=4), st.lists(st.binary(max_size=3), max_size=4))
def test_no_two_sequences_of_frames_collide(first: list[bytes], second: list[bytes]) -> None:
    assert (digest_frames(first) == digest_frames(second)) == (first == second)


@given(FILES, FILES)
def test_no_two_sets_of_files_collide(first: dict[str, bytes], second: dict[str, bytes]) -> None:
    assert (digest_files(first) == digest_files(second)) == (first == second)


@given(st.text("abc", min_size=1, max_size=6), st.binary(max_size=6), st.integers(1, 6))
def test_bytes_that_move_from_the_path_into_the_content_change_the_digest(
    path: str, content: bytes, moved: int
) -> None:
    shifted = {path[:-moved]: path[-moved:].encode() + content}

    assert digest_files({path: content}) != digest_files(shifted)


@given(FILES)
def test_files_have_one_digest_in_any_order(files: dict[str, bytes]) -> None:
    assert digest_files(files) == digest_files(backwards(files))


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def test_a_tree_has_the_digest_of_its_files_wherever_it_lies(tmp_path: Path) -> None:
    files = {"a.py": b"1", "b/c.py": b"2", "b/d.txt": b"3"}
    for name in ("here", "there"):
        write(tmp_path / name, files)
    (tmp_path / "here" / "empty").mkdir()

    assert digest_tree(tmp_path / "here") == digest_tree(tmp_path / "there") == digest_files(files)


def test_only_files_with_a_wanted_suffix_enter_the_digest_of_a_tree(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": b"1", "b/c.md": b"2"})

    assert digest_tree(tmp_path, suffixes=(".py",)) == digest_files({"a.py": b"1"})


def test_a_file_name_that_is_not_utf_8_has_a_digest(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.py")).write_bytes(b"1")

    assert digest_tree(tmp_path) == digest_files({os.fsdecode(b"\xff.py"): b"1"})

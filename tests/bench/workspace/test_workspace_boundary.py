"""A boundary is a list of patterns; every path that none of them allows is outside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.workspace import outside_boundary

component = st.text(st.characters(codec="utf-8", exclude_characters="/\0*?["), min_size=1, max_size=5)
path = st.lists(component, min_size=1, max_size=5)


def allowed(name: bytes, *patterns: str) -> bool:
    return outside_boundary([name], patterns) == ()


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("plan.md", b"plan.md", True),
        ("plan.md", b"plan.md/x", False),
        ("plan.md", b"docs/plan.md", False),
        ("*.md", b"plan.md", True),
        ("*.md", b"docs/plan.md", False),
        ("*", b".hidden", True),
        ("docs/*", b"docs/a/b", False),
        ("docs/**", b"docs/a/b", True),
        ("docs/**", b"docs", False),
        ("docs/", b"docs/a/b", True),
        ("docs/", b"docs2/a", False),
        ("**/plan.md", b"plan.md", True),
        ("**/plan.md", b"a/b/plan.md", True),
        ("**/plan.md", b"a/myplan.md", False),
        ("a/**/z", b"a/z", True),
        ("a/**/z", b"a/b/c/z", True),
        ("a/**/z", b"a/b/c/zz", False),
        ("**", b"a/b", True),
        ("file?.py", b"file1.py", True),
        ("a?b", b"a/b", False),
        ("a[/]b", b"a/b", False),
        ("[a-c].py", b"b.py", True),
        ("[!a-c].py", b"b.py", False),
        ("[z-a].py", b"[z-a].py", False),
        ("new*line", b"new\nline", True),
        ("*", b"\xff\xfe", True),
        ("\udcff", b"\xff", True),
        ("A.py", b"a.py", False),
    ],
)
def test_patterns_mean_what_they_say(pattern: str, name: bytes, expected: bool) -> None:
    assert allowed(name, pattern) is expected


@given(path)
def test_no_pattern_allows_nothing_and_two_stars_allow_all(parts: list[str]) -> None:
    name = "/".join(parts).encode()
    assert not allowed(name)
    assert allowed(name, "**")


@given(path)
def test_a_path_without_wildcards_allows_itself_alone(parts: list[str]) -> None:
    name = "/".join(parts)
    others = [f"{name}/x", f"x/{name}", name + "x", "/".join(parts[:-1]) or "x/y/z"]
    assert outside_boundary([name.encode(), *(other.encode() for other in others)], [name]) == tuple(
        other.encode() for other in others
    )


@given(path, component)
def test_a_folder_allows_all_below_it_and_not_itself(parts: list[str], below: str) -> None:
    folder = "/".join(parts)
    for pattern in (f"{folder}/", f"{folder}/**"):
        assert allowed(f"{folder}/{below}".encode(), pattern)
        assert allowed(f"{folder}/{below}/more".encode(), pattern)
        assert not allowed(folder.encode(), pattern)


@given(st.lists(path, max_size=6), st.lists(path, max_size=3))
def test_what_is_outside_keeps_its_order_and_more_patterns_never_allow_less(
    paths: list[list[str]], patterns: list[list[str]]
) -> None:
    names = ["/".join(parts).encode() for parts in paths]
    texts = ["/".join(parts) for parts in patterns]
    outside = outside_boundary(names, texts)
    assert [name for name in names if name in outside] == list(outside)
    assert set(outside_boundary(names, [*texts, "a/**"])) <= set(outside)

"""The digest of files and folders that a task brings along."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.suite import Refused, list_entries, read_file
from bench.suite.tree import digest_source


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    (folder / "inner" / "b.txt").write_text("b")
    (folder / "link").symlink_to("inner/b.txt")
    return folder


def relink(tree: Path) -> None:
    (tree / "link").unlink()
    (tree / "link").symlink_to("a.txt")


def replace_link(tree: Path) -> None:
    (tree / "link").unlink()
    (tree / "link").write_text("inner/b.txt")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file's content": lambda tree: (tree / "a.txt").write_text("A"),
    "a file's name": lambda tree: (tree / "a.txt").rename(tree / "c.txt"),
    "a file's mode": lambda tree: (tree / "a.txt").chmod(0o755),
    "a link's target": relink,
    "a link for a file": replace_link,
    "an empty folder": lambda tree: (tree / "empty").mkdir(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_changes_with_what_is_there(tree: Path, change: str) -> None:
    before = digest_source(tree)
    CHANGES[change](tree)
    assert digest_source(tree) != before


def test_the_digest_does_not_depend_on_place_time_or_umask(tree: Path) -> None:
    before = digest_source(tree)
    moved = tree.rename(tree.parent / "moved")
    os.utime(moved / "a.txt", (0, 0))
    (moved / "a.txt").chmod(0o600)
    assert digest_source(moved) == before


def test_a_single_file_has_a_digest(tree: Path) -> None:
    before = digest_source(tree / "a.txt")
    assert digest_source((tree / "a.txt").rename(tree / "z.txt")) == before
    (tree / "z.txt").chmod(0o755)
    assert digest_source(tree / "z.txt") != before


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "inner/../../outside"])
def test_a_link_that_leaves_the_folder_is_refused(tree: Path, target: str) -> None:
    (tree / "link").unlink()
    (tree / "link").symlink_to(target)
    with pytest.raises(Refused, match="holds `link`, a symbolic link that leaves the folder"):
        digest_source(tree)


@pytest.mark.parametrize("target", ["link", "none", "inner"])
def test_a_link_that_stays_inside_is_kept_as_a_link_wherever_it_leads(tree: Path, target: str) -> None:
    (tree / "link").unlink()
    (tree / "link").symlink_to(target)
    assert digest_source(tree)


def test_special_files_are_refused(tree: Path) -> None:
    os.mkfifo(tree / "inner" / "pipe")
    with pytest.raises(Refused, match="holds `inner/pipe`, which is neither a file, a folder nor a link"):
        digest_source(tree)


def test_a_repository_is_refused_unless_allowed(tree: Path) -> None:
    (tree / "inner" / ".git").mkdir()
    with pytest.raises(Refused, match=r"holds `inner/\.git`: it is a git repository"):
        digest_source(tree)
    assert digest_source(tree, allow_git=True)


def test_entries_are_bounded_and_links_not_followed(tree: Path) -> None:
    (tree / "loop").symlink_to(".")
    assert [entry.path for entry in list_entries(tree, 5)] == [
        "a.txt",
        "inner",
        "inner/b.txt",
        "link",
        "loop",
    ]
    with pytest.raises(Refused, match="holds more than 4 entries"):
        list_entries(tree, 4)


def test_a_file_larger_than_allowed_is_not_read(tree: Path) -> None:
    assert read_file(tree, "inner/b.txt", 1) == b"b"
    with pytest.raises(Refused, match="holds 1 bytes, more than the 0"):
        read_file(tree, "inner/b.txt", 0)


def test_a_file_that_changes_while_it_is_read_is_refused(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.read

    def read_and_touch(descriptor: int, size: int) -> bytes:
        piece = real(descriptor, size)
        os.utime(tree / "a.txt", (1, 1))
        return piece

    monkeypatch.setattr(os, "read", read_and_touch)
    with pytest.raises(Refused, match="changed while it was read"):
        read_file(tree, "a.txt", 100)

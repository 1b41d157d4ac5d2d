"""Overlays on disk: nothing is followed, and what was frozen stays what it was."""

import os
import stat
from pathlib import Path

import pytest

from bench.config import SkillSpec
from bench.errors import OverlayError
from bench.skills import Overlay, freeze_overlay, make_overlay, read_overlay, write_overlay

SPECS = {"code-review": SkillSpec(root=".claude/skills")}
REVIEW = ".claude/skills/code-review"
FILES = {f"{REVIEW}/a.md": b"a", f"{REVIEW}/references/b.md": b"b"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_overlay(tmp_path / "overlay", FILES)
    return tmp_path / "overlay"


def refusal(folder: Path) -> str:
    with pytest.raises(OverlayError) as caught:
        read_overlay(folder, SPECS)
    return str(caught.value)


def test_what_was_written_is_read_back(folder: Path) -> None:
    assert read_overlay(folder, SPECS) == make_overlay(FILES, SPECS)


def test_a_folder_that_is_missing_empty_or_a_file_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none").endswith("none is refused:\n  it is not a folder that exists")
    (tmp_path / "file").write_text("x")
    assert "it is not a folder that exists" in refusal(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    assert "it holds no file" in refusal(tmp_path / "empty")


def test_an_overlay_behind_a_link_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert f"{tmp_path / 'link'} is a symbolic link; name the real folder" in refusal(tmp_path / "link")
    (tmp_path / "parent").symlink_to(tmp_path)
    assert f"{tmp_path / 'parent'} is a symbolic link" in refusal(tmp_path / "parent" / "overlay")


def test_links_and_special_files_are_refused_with_everything_else(folder: Path) -> None:
    (folder / REVIEW / "link.md").symlink_to("a.md")
    (folder / "linked").symlink_to("/etc")
    os.mkfifo(folder / REVIEW / "pipe.md")
    (folder / "conftest.py").write_text("x")
    said = refusal(folder)
    assert said.startswith(f"the overlay {folder} is refused:")
    assert f"{REVIEW}/link.md is a symbolic link; an overlay holds regular files" in said
    assert "linked is a symbolic link" in said
    assert f"{REVIEW}/pipe.md is a special file" in said
    assert "conftest.py is not Markdown" in said


def test_entries_files_and_bytes_are_bounded_before_anything_is_read(folder: Path) -> None:
    with (folder / REVIEW / "huge.md").open("wb") as file:
        file.truncate(1 << 40)
    assert "its files hold 1,099,511,627,778 bytes, more than the 4,194,304" in refusal(folder)
    for number in range(300):
        (folder / f"{number}").mkdir()
    assert "holds more than 256 entries" in refusal(folder)


def test_an_overlay_of_ten_thousand_files_is_refused_in_a_few_words(folder: Path) -> None:
    for number in range(10_000):
        (folder / REVIEW / f"{number}.md").touch()
    said = refusal(folder)
    assert "holds more than 256 entries" in said
    assert len(said) < 2000


def test_rules_of_contents_name_the_folder_too(folder: Path) -> None:
    (folder / REVIEW / "a.md").write_bytes(b"\xff")
    assert (
        refusal(folder)
        == f"the overlay {folder} is refused:\n  {REVIEW}/a.md is not UTF-8 text: byte 0 cannot be read"
    )


def test_an_overlay_is_not_written_over_something(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(OverlayError, match="is in use: an overlay is written into a new or empty folder"):
        write_overlay(folder, FILES)
    (tmp_path / "empty").mkdir()
    write_overlay(tmp_path / "empty", FILES)


@pytest.mark.parametrize("path", ["../a.md", "/tmp/a.md", "a//b.md"])
def test_an_overlay_is_not_written_outside_its_folder(tmp_path: Path, path: str) -> None:
    with pytest.raises(OverlayError, match="the overlay cannot be written to"):
        write_overlay(tmp_path / "new", {path: b"x"})
    assert not (tmp_path / "a.md").exists()


def test_a_frozen_overlay_is_read_only_and_equal(folder: Path, tmp_path: Path) -> None:
    overlay = read_overlay(folder, SPECS)
    frozen = tmp_path / "deep" / "frozen"
    freeze_overlay(overlay, frozen)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [frozen, *frozen.rglob("*")]}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o500}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o400}
    assert read_overlay(frozen, SPECS) == overlay


def test_an_overlay_is_frozen_once(tmp_path: Path) -> None:
    freeze_overlay(make_overlay(FILES, SPECS), tmp_path / "frozen")
    with pytest.raises(OverlayError, match="exists already; an overlay is frozen once, into a new folder"):
        freeze_overlay(make_overlay(FILES, SPECS), tmp_path / "frozen")


def test_a_frozen_copy_that_differs_from_its_digest_is_refused(tmp_path: Path) -> None:
    lying = Overlay({f"{REVIEW}/a.md": b"a"}, "0" * 64, ("code-review",), {"code-review": REVIEW})
    with pytest.raises(OverlayError, match="is not what was written: something changed it meanwhile"):
        freeze_overlay(lying, tmp_path / "frozen")

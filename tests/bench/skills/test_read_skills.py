"""Reading skills from disk: what is taken, and each refusal in words."""

import os
import re
from pathlib import Path

import pytest

from bench.errors import SkillError
from bench.skills import combined_digest, fingerprint, placed_files, read_family, read_skill

MATTER = "---\nname: code-review\ndescription: Reviews a change. Use it for each uncommitted change.\n---\n\n# Review\n"


def write(root: Path, name: str = "code-review", text: str = MATTER) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(text.encode())
    return folder


def refusal(root: Path, name: str = "code-review") -> str:
    with pytest.raises(SkillError) as caught:
        read_skill(root, name)
    return str(caught.value)


def test_a_skill_is_its_files_and_their_digest(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "references").mkdir()
    (folder / "references" / "more.md").write_text("more")
    skill = read_skill(tmp_path, "code-review")
    assert skill.files == {"SKILL.md": MATTER.encode(), "references/more.md": b"more"}
    write(tmp_path / "copy")
    assert read_skill(tmp_path / "copy", "code-review").digest != skill.digest
    (tmp_path / "copy" / "code-review" / "references").mkdir()
    (tmp_path / "copy" / "code-review" / "references" / "more.md").write_text("more")
    assert read_skill(tmp_path / "copy", "code-review").digest == skill.digest


def test_front_matter_may_hold_more_keys_folded_text_and_windows_line_ends(tmp_path: Path) -> None:
    text = "---\nname: code-review\ndescription: >-\n  Reviews\n  a change.\nlicense: MIT\nmetadata: {a: 1}\n---\n"
    write(tmp_path, text=text.replace("\n", "\r\n"))
    assert read_skill(tmp_path, "code-review").name == "code-review"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Review\n", "SKILL.md:1: must begin with front matter: `---`, `name: …`, `description: …`, `---`"),
        ("\n---\nname: x\n---\n", "SKILL.md:1: must begin with front matter"),
        ("---\nname: code-review\n", "SKILL.md:1: the front matter has no end"),
        ("---\n---\n", "SKILL.md:1: is empty"),
        ("---\njust text\n---\n", "SKILL.md:2: the front matter must hold `name: code-review`"),
        (
            "---\ndescription: x\nname: other\n---\n",
            "SKILL.md:3: the front matter must say `name: code-review`, as the",
        ),
        ("---\nname: other\ndescription: x\n---\n", "as the folder is called, not 'other'"),
        ("---\ndescription: x\n---\n", "must say `name: code-review`, as the folder is called"),
        ("---\nname: code-review\n---\n", "must have a `description` that says what the skill does"),
        ("---\nname: code-review\ndescription: ' '\n---\n", "must have a `description`"),
        (f"---\nname: code-review\ndescription: {'x' * 1025}\n---\n", "1025 characters, more than the 1024"),
        ("---\nname: code-review\ndescription: a: b\n---\n", "SKILL.md:3: is not valid YAML"),
        (
            "---\nname: code-review\nname: code-review\n---\n",
            "SKILL.md:3: the key `name` is there already, in line 2",
        ),
    ],
)
def test_front_matter_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    write(tmp_path, text=text)
    assert said in refusal(tmp_path)


def test_all_problems_of_front_matter_are_said_at_once(tmp_path: Path) -> None:
    write(tmp_path, text="---\nname: other\ndescription: 3\n---\n")
    assert len(refusal(tmp_path).splitlines()) == 3


def test_a_missing_skill_names_the_nearest_and_all_that_there_are(tmp_path: Path) -> None:
    write(tmp_path)
    said = refusal(tmp_path, "code-reveiw")
    assert f"there is no skill `code-reveiw` in {tmp_path}; did you mean 'code-review'?" in said
    assert "skills there: code-review" in said
    assert "cannot be listed, or does not exist" in refusal(tmp_path / "none")


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "a--b", "-a", "a" * 65, "a\n"])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    assert "is no name of a skill: use lower-case letters, digits and single hyphens" in refusal(
        tmp_path, name
    )


def test_a_folder_without_skill_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path).joinpath("SKILL.md").rename(tmp_path / "code-review" / "skill.md")
    assert "SKILL.md does not exist" in refusal(tmp_path)


def test_links_and_special_files_are_refused_all_at_once(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "a.md").symlink_to("/etc/passwd")
    os.mkfifo(folder / "b.md")
    said = refusal(tmp_path)
    assert "a.md is a symbolic link" in said
    assert "b.md is a special file" in said


def test_a_linked_skill_folder_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "real")
    (tmp_path / "code-review").symlink_to(tmp_path / "real" / "code-review")
    assert "is a symbolic link; put the folder itself there" in refusal(tmp_path)


def test_a_skill_is_bounded(tmp_path: Path) -> None:
    folder = write(tmp_path)
    for number in range(256):
        (folder / f"{number}.md").write_text("x")
    (folder / "big.md").write_bytes(b"x" * (4 << 20))
    said = refusal(tmp_path)
    assert "it holds 258 files, more than the 256 that are allowed" in said
    assert "more than the 4,194,304 that are allowed" in said


def test_a_skill_of_five_megabytes_is_refused_with_its_size(tmp_path: Path) -> None:
    (write(tmp_path) / "big.md").write_bytes(b"x" * 5_000_000)
    assert re.search(r"its files hold 5,000,\d{3} bytes, more than the 4,194,304", refusal(tmp_path))


def test_markdown_must_be_text_but_other_files_need_not(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "logo.png").write_bytes(b"\xff")
    assert read_skill(tmp_path, "code-review").files["logo.png"] == b"\xff"
    (folder / "more.MD").write_bytes(b"\xff")
    assert "more.MD is not UTF-8 text: byte 0 cannot be read" in refusal(tmp_path)


def test_a_long_list_of_problems_is_cut_and_counted(tmp_path: Path) -> None:
    folder = write(tmp_path)
    for number in range(30):
        (folder / f"{number}.md").symlink_to("SKILL.md")
    lines = refusal(tmp_path).splitlines()
    assert len(lines) == 22
    assert lines[-1].strip() == "and 10 more"


@pytest.mark.parametrize("inside", ["", "skills"])
def test_a_family_keeps_its_skills_in_either_place(tmp_path: Path, inside: str) -> None:
    write(tmp_path / inside)
    assert list(read_family(tmp_path, ["code-review"])) == ["code-review"]


def test_a_family_names_every_skill_that_it_lacks_or_has_twice(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path / "skills")
    with pytest.raises(SkillError) as caught:
        read_family(tmp_path, ["code-review", "code-work"])
    assert "the skill `code-review` is there twice" in str(caught.value)
    assert "there is no skill `code-work`" in str(caught.value)


def test_placed_skills_lie_where_the_agent_looks_and_have_a_fingerprint(tmp_path: Path) -> None:
    write(tmp_path)
    skills = {"code-review": read_skill(tmp_path, "code-review")}
    placed = placed_files(skills, "./.claude/skills/")
    assert list(placed) == [".claude/skills/code-review/SKILL.md"]
    assert fingerprint(placed) == fingerprint(dict(placed))
    assert fingerprint({**placed, ".claude/skills/code-review/SKILL.md": b"x"}) != fingerprint(placed)


def test_the_combined_digest_tells_names_and_contents_apart(tmp_path: Path) -> None:
    write(tmp_path)
    skill = read_skill(tmp_path, "code-review")
    assert combined_digest({"a": skill}) != combined_digest({"b": skill})
    assert combined_digest({"a": skill, "b": skill}) == combined_digest({"b": skill, "a": skill})

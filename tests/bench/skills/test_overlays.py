"""What an overlay may hold and what it does: pure rules over bytes."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.config import SkillSpec
from bench.digest import digest_bytes, digest_files
from bench.errors import OverlayError
from bench.skills import Overlay, Skill, apply_overlay, check_against, make_overlay, stack_overlays

SPECS = {"code-review": SkillSpec(root=".claude/skills"), "code-work": SkillSpec(root="./skills/")}
REVIEW, WORK = ".claude/skills/code-review", "skills/code-work"
PATHS = [f"{REVIEW}/a.md", f"{REVIEW}/references/b.md", f"{WORK}/a.md", f"{WORK}/c.MD"]

FILES = st.dictionaries(st.sampled_from(PATHS), st.text(max_size=5).map(str.encode), min_size=1)
OVERLAYS = FILES.map(lambda files: make_overlay(files, SPECS))


def skill(name: str, files: dict[str, bytes]) -> Skill:
    return Skill(name, files, digest_files(files))


def matter(name: str) -> bytes:
    return f"---\nname: {name}\ndescription: x\n---\n".encode()


SKILLS = {
    "code-review": skill(
        "code-review", {"SKILL.md": matter("code-review"), "a.md": b"a", "references/b.md": b"b"}
    ),
    "code-work": skill("code-work", {"SKILL.md": matter("code-work"), "a.md": b"a", "c.MD": b"c"}),
}


def refusal(files: dict[str, bytes]) -> str:
    with pytest.raises(OverlayError) as caught:
        make_overlay(files, SPECS)
    return str(caught.value)


def test_an_overlay_knows_the_skills_that_it_touches() -> None:
    overlay = make_overlay({f"{WORK}/a.md": b"1", f"{REVIEW}/x/y.md": b"2"}, SPECS)
    assert overlay.touched == ("code-review", "code-work")
    assert overlay.of("code-review") == {"x/y.md": b"2"}
    assert overlay.of("other") == {}


def test_the_digest_frames_path_and_content_by_length_in_path_order() -> None:
    files = {f"{REVIEW}/b.md": b"2", f"{REVIEW}/a.md": b"1"}
    framed = b"".join(
        len(part).to_bytes(8, "big") + part for path in sorted(files) for part in (path.encode(), files[path])
    )
    assert make_overlay(files, SPECS).digest == digest_bytes(framed)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (
            "src/a.py",
            "src/a.py is not inside a skill that may change; these may: .claude/skills/code-review, skills/",
        ),
        ("src/a.py", "src/a.py is not Markdown; an overlay holds only .md files"),
        (f"{REVIEW}/a.json", "is not Markdown"),
        (f"{REVIEW}.md", "is not inside a skill that may change"),
        (".claude/skills/other/SKILL.md", "is not inside a skill that may change"),
        ("README.md", "README.md is not inside a skill that may change"),
        (f"{REVIEW}/../code-work/a.md", "leaves its folder with `..`"),
        (f"/{REVIEW}/a.md", "is absolute"),
        (f"{REVIEW}//a.md", "is not normalised"),
        (f"{REVIEW}/a\x1b[31m.md", "a\\x1b[31m.md holds a backslash, a control character"),
        (f"{REVIEW}/a\nb.md", "a\\nb.md holds a backslash, a control character"),
        (
            f"{REVIEW}/a\udcff.md",
            "a\\udcff.md holds a backslash, a control character or a byte that is not UTF-8",
        ),
        (f"{REVIEW}/{'x' * 512}.md", "is longer than 512 bytes"),
    ],
)
def test_a_path_is_refused_in_words(path: str, said: str) -> None:
    assert said in refusal({path: b"x"})


def test_an_overlay_without_files_is_refused() -> None:
    assert refusal({}) == "the overlay is refused:\n  it holds no file"


def test_an_overlay_is_bounded() -> None:
    assert "it holds 65 files, more than the 64" in refusal({f"{REVIEW}/{n}.md": b"x" for n in range(65)})
    assert "its files hold 4,194,305 bytes, more than the 4,194,304" in refusal(
        {f"{REVIEW}/a.md": b"x" * (2 << 20), f"{REVIEW}/b.md": b"x" * ((2 << 20) + 1)}
    )


def test_markdown_must_be_text() -> None:
    assert f"{REVIEW}/a.md is not UTF-8 text: byte 0" in refusal({f"{REVIEW}/a.md": b"\xff"})


def test_a_skill_file_that_no_agent_would_load_is_refused() -> None:
    assert f"{REVIEW}/SKILL.md:2: the front matter must say `name: code-review`" in refusal(
        {f"{REVIEW}/SKILL.md": matter("code-work")}
    )
    assert make_overlay({f"{REVIEW}/SKILL.md": matter("code-review")}, SPECS)


def test_all_problems_are_said_at_once_up_to_twenty() -> None:
    lines = refusal({f"{n}.py": b"\xff" for n in range(10)}).splitlines()
    assert len(lines) == 22
    assert lines[-1].strip() == "and 10 more"


def test_an_overlay_cannot_create_a_file() -> None:
    overlay = make_overlay({f"{REVIEW}/new.md": b"1", f"{REVIEW}/a.md": b"2"}, SPECS)
    with pytest.raises(OverlayError) as caught:
        check_against(overlay, SKILLS)
    assert str(caught.value) == (
        f"the overlay is refused:\n  {REVIEW}/new.md does not exist in the skill `code-review`; "
        "an overlay replaces files, promotion cannot create them"
    )


def test_an_overlay_of_a_skill_that_is_not_there_is_refused() -> None:
    with pytest.raises(OverlayError, match="does not exist in the skill `code-review`"):
        check_against(make_overlay({f"{REVIEW}/a.md": b"1"}, SPECS), {})


def test_an_overlay_that_changes_nothing_is_refused() -> None:
    overlay = make_overlay({f"{REVIEW}/a.md": b"a", f"{WORK}/c.MD": b"c"}, SPECS)
    with pytest.raises(OverlayError, match="identical to the incumbent: nothing to measure"):
        check_against(overlay, SKILLS)
    check_against(stack_overlays([overlay, make_overlay({f"{WORK}/c.MD": b"d"}, SPECS)]), SKILLS)


def test_applying_replaces_files_and_leaves_other_skills_alone() -> None:
    changed = apply_overlay(SKILLS, make_overlay({f"{REVIEW}/a.md": b"new"}, SPECS))
    assert changed["code-review"].files == {**SKILLS["code-review"].files, "a.md": b"new"}
    assert changed["code-review"].digest == digest_files(changed["code-review"].files)
    assert changed["code-work"] is SKILLS["code-work"]
    assert SKILLS["code-review"].files["a.md"] == b"a"


@given(FILES, st.randoms())
def test_the_digest_does_not_depend_on_the_order_of_files(files: dict[str, bytes], random: Random) -> None:
    shuffled = list(files.items())
    random.shuffle(shuffled)
    assert make_overlay(dict(shuffled), SPECS) == make_overlay(files, SPECS)


@given(FILES, FILES)
def test_overlays_have_equal_digests_only_when_they_hold_the_same(
    one: dict[str, bytes], two: dict[str, bytes]
) -> None:
    assert (make_overlay(one, SPECS).digest == make_overlay(two, SPECS).digest) == (one == two)


@given(OVERLAYS, OVERLAYS, OVERLAYS)
def test_stacking_is_associative(one: Overlay, two: Overlay, three: Overlay) -> None:
    left = stack_overlays([stack_overlays([one, two]), three])
    right = stack_overlays([one, stack_overlays([two, three])])
    assert left == right == stack_overlays([one, two, three])


@given(st.lists(OVERLAYS, max_size=3))
def test_a_stack_does_what_its_overlays_do_one_after_the_other(overlays: list[Overlay]) -> None:
    skills = dict(SKILLS)
    for overlay in overlays:
        skills = apply_overlay(skills, overlay)
    assert apply_overlay(SKILLS, stack_overlays(overlays)) == skills


@given(OVERLAYS)
def test_a_stack_of_one_is_the_overlay_itself_and_applying_twice_is_applying_once(overlay: Overlay) -> None:
    assert stack_overlays([overlay]) == overlay == stack_overlays([overlay, overlay])
    once = apply_overlay(SKILLS, overlay)
    assert apply_overlay(once, overlay) == once


def test_overlays_for_different_places_of_a_skill_are_not_stacked() -> None:
    moved = {"code-review": SkillSpec(root="other")}
    overlays = [
        make_overlay({f"{REVIEW}/a.md": b"1"}, SPECS),
        make_overlay({"other/code-review/a.md": b"1"}, moved),
    ]
    with pytest.raises(
        OverlayError, match=r"`code-review` is in \.claude/skills/code-review in one overlay, in other/"
    ):
        stack_overlays(overlays)

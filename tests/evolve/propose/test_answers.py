"""What a proposing session leaves becomes a proposal, or says why it is none."""

import pytest

from bench.config import SkillSpec
from bench.digest import digest_files
from bench.skills import Skill
from evolve.desk.mentions import speaks_of
from evolve.errors import ProposalFailed
from evolve.history import Judgement
from evolve.propose import Answer, Setting
from evolve.propose.agent.judging import proposal_of

PATH = ".claude/skills/craft/SKILL.md"
OLD = "---\nname: craft\ndescription: How it is done.\n---\nDo it.\n"
NEW = OLD + "Briefly.\n"


def answer(
    files: dict[str, str] | None = None, text: str = "# Be brief\n", refused: str | None = None
) -> Answer:
    return Answer(
        files={PATH: NEW} if files is None else files, text=text, refused=refused, folder="somewhere"
    )


def setting(*judgements: Judgement) -> Setting:
    return Setting(
        run="this",
        specs={"craft": SkillSpec(root=".claude/skills"), "other": SkillSpec(root=".claude/skills")},
        incumbents={"craft": Skill("craft", {"SKILL.md": OLD.encode()}, "digest")},
        base="now",
        suite="mine",
        judgements=judgements,
    )


def judged(base: str) -> Judgement:
    return Judgement(
        agent="any/1", policy="any", contained=True, run="that", generation=1, idea="Be brief",
        idea_digest=digest_files({PATH: NEW.encode()}), suite="mine", base=base, result="then",
        decision="keep_incumbent", complete=True,
    )  # fmt: skip


def test_an_idea_is_named_by_the_first_heading_of_its_case_and_known_by_its_bytes() -> None:
    proposal = proposal_of(answer(text="Well.\n\n# Proposal: say\x1b[31m less\n"), setting())
    assert "say" in proposal.idea
    assert "\x1b" not in proposal.idea
    assert proposal.idea_digest == digest_files({PATH: NEW.encode()})
    assert proposal_of(answer(text="No heading."), setting()).idea == "No heading."
    assert len(proposal_of(answer(text="# " + "long " * 99), setting()).idea) <= 80


@pytest.mark.parametrize(
    ("left", "why"),
    [
        (answer(text=" \n"), "proposal.md is missing or empty"),
        (answer(files={}), "it holds no file"),
        (answer(files={PATH: OLD}), "identical to the incumbent"),
        (answer(files={PATH: "no front matter"}), "SKILL.md"),
        (answer(files={".claude/skills/other/SKILL.md": NEW}), "is not inside a skill that may change"),
        (answer(files={"../x.md": NEW}), "x.md"),
        (answer(files={}, refused="a link"), "a link"),
    ],
    ids=["no case", "empty", "same", "no front matter", "skill that nobody loads", "outside", "refused"],
)
def test_what_cannot_be_measured_is_refused_with_the_reason_and_the_place(left: Answer, why: str) -> None:
    with pytest.raises(ProposalFailed) as failed:
        proposal_of(left, setting())
    assert why in str(failed.value)
    assert "is in somewhere" in str(failed.value)


def test_what_lost_on_these_skills_is_not_measured_again_but_on_others_it_is() -> None:
    assert proposal_of(answer(), setting(judged("before"))).idea == "Be brief"
    with pytest.raises(ProposalFailed, match="judged on these skills before"):
        proposal_of(answer(), setting(judged("now")))


def test_a_text_speaks_of_a_task_only_where_its_name_stands_alone() -> None:
    speaks = speaks_of(["a", "fix-42"])
    assert [speaks(text) for text in ("see fix-42.", "task a: x", "`fix-42`", "fix-42/work/0")] == [True] * 4
    assert [speaks(text) for text in ("prefix-42", "fix-421", "banana", "fix-42-b", "")] == [False] * 5
    assert not speaks_of([])("anything")

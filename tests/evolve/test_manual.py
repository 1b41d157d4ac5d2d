"""The proposer `manual`: a folder that a person wrote, as it is."""

from pathlib import Path

import pytest

from bench.config import ProposerConfig, SkillSpec
from bench.digest import digest_files
from bench.errors import OverlayError
from bench.skills import Skill
from evolve.errors import ProposalError
from evolve.history import Judgement
from evolve.propose import Setting, create_proposer

PATH = ".claude/skills/code-review/SKILL.md"
CONTENT = b"---\nname: code-review\ndescription: Reviews code.\n---\n\nRead it twice.\n"


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    file = tmp_path / "mine" / PATH
    file.parent.mkdir(parents=True)
    file.write_bytes(CONTENT)
    return tmp_path / "mine"


def config(folder: str = "mine") -> ProposerConfig:
    return ProposerConfig(name="manual", queue=None, unapplied="offer", options={"overlay": folder})


def setting(*judgements: Judgement, base: str = "now") -> Setting:
    return Setting(
        run="this",
        specs={"code-review": SkillSpec(root=".claude/skills")},
        incumbents={"code-review": Skill("code-review", {"SKILL.md": b"old"}, "digest")},
        base=base,
        suite="starter",
        judgements=judgements,
    )


@pytest.mark.usefixtures("overlay")
def test_the_folder_s_files_are_proposed_as_they_are(tmp_path: Path) -> None:
    proposal = create_proposer(config(), tmp_path).propose(setting())

    assert proposal is not None
    assert proposal.files == {PATH: CONTENT}
    assert proposal.idea_digest == digest_files({PATH: CONTENT})
    assert proposal.idea == "manual mine"


@pytest.mark.usefixtures("overlay")
def test_a_case_that_lies_beside_the_folder_is_the_proposal_s(tmp_path: Path) -> None:
    (tmp_path / "proposal.md").write_text("# Why\n")

    proposal = create_proposer(config(), tmp_path).propose(setting())

    assert proposal is not None
    assert proposal.text == "# Why\n"


@pytest.mark.usefixtures("overlay")
def test_nothing_is_proposed_once_this_run_has_judged_it(tmp_path: Path) -> None:
    judged = Judgement(
        agent="rulebook/1",
        policy="threshold_review",
        contained=True,
        run="this",
        generation=1,
        idea="manual mine",
        idea_digest=digest_files({PATH: CONTENT}),
        suite="starter",
        base="now",
        result="then",
        decision="keep_incumbent",
        complete=True,
    )
    proposer = create_proposer(config(), tmp_path)

    assert proposer.propose(setting(judged)) is None


def test_a_file_outside_the_declared_skills_is_refused(overlay: Path, tmp_path: Path) -> None:
    (overlay / "README.md").write_text("mine")

    with pytest.raises(OverlayError, match=r"README.md is not inside a skill"):
        create_proposer(config(), tmp_path).propose(setting())


def test_a_folder_that_is_not_there_is_refused_with_the_option_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ProposalError, match=r"does not exist: .*nowhere\n  see proposer\.options\.overlay"):
        create_proposer(config("nowhere"), tmp_path)

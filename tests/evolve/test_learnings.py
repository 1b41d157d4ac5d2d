"""The proposer `learnings`: which note comes next, and what a skill becomes with it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.agents.rulebook.program.rules import rules_in_markdown
from bench.config import ProposerConfig, SkillSpec
from bench.digest import digest_files
from bench.skills import Skill, make_overlay
from evolve.errors import ProposalError
from evolve.history import Judgement
from evolve.propose import LEARNINGS, Remarking, Setting, create_proposer
from evolve.propose.learnings import SECTION, holds, learn, next_note
from evolve.propose.queue import Learning

SPECS = {"code-review": SkillSpec(root=".claude/skills")}
HEAD = "---\nname: code-review\ndescription: Reviews code.\n---\n\n# Code review\n\nRead it all.\n"
FENCED = "## Examples\n\n```sh\n## not a heading\n# nor this\n```\n"


def note(name: str, **changes: Any) -> Learning:
    plain = {
        "id": name,
        "skill": "code-review",
        "date": "2026-03-09",
        "observation": f"{name} was seen.",
        "sentence": f"Look for {name}.",
    }
    return Learning(**(plain | changes))


def with_rule(name: str, text: str = "") -> Learning:
    return note(name, rule=text or f"id: {name}\nlanguage: python\nrule: {{pattern: f()}}\n")


NOTES = [note("a"), with_rule("b"), note("c"), note("d")]


def judged(
    learning: Learning,
    base: str = "now",
    *,
    result: str = "",
    suite: str = "starter",
    promoted: bool = False,
    complete: bool = True,
) -> Judgement:
    return Judgement(
        agent="rulebook/1",
        policy="threshold_review",
        contained=True,
        run="r",
        generation=1,
        idea=learning.id,
        idea_digest=learning.digest,
        suite=suite,
        base=base,
        result=result or f"{base}+{learning.id}",
        decision="promote" if promoted else "keep_incumbent",
        complete=complete,
    )


def skill(text: str = HEAD) -> Skill:
    files = {"SKILL.md": text.encode(), "references/more.md": b"More.\n"}
    return Skill("code-review", files, digest_files(files))


def setting(*judgements: Judgement, base: str = "now", text: str = HEAD) -> Setting:
    return Setting(
        run="this",
        specs=SPECS,
        incumbents={"code-review": skill(text)},
        base=base,
        suite="starter",
        judgements=judgements,
    )


def order(*judgements: Judgement, base: str = "now") -> list[str]:
    """The ideas in the order in which they would be proposed on these incumbents, each once it is judged."""
    known, ideas = list(judgements), []
    for _ in range(2 * len(NOTES)):
        following = next_note(NOTES, setting(*known, base=base))
        if following is not None:
            ideas.append(following.id)
            known.append(judged(following, base))
    return ideas


def test_untried_notes_come_in_the_order_of_the_queue() -> None:
    assert order() == ["a", "b", "c", "d"]


def test_a_note_that_was_judged_on_these_skills_is_not_proposed_again() -> None:
    assert order(judged(NOTES[0]), judged(NOTES[2])) == ["b", "d"]


def test_a_note_that_was_judged_on_other_skills_only_comes_last() -> None:
    assert order(judged(NOTES[0], "before"), judged(NOTES[1], "before")) == ["c", "d", "a", "b"]


def test_a_note_that_the_skills_already_hold_is_never_proposed() -> None:
    chain = [
        judged(NOTES[0], "first", result="second", promoted=True),
        judged(NOTES[2], "second", result="now", promoted=True),
    ]

    assert order(*chain) == ["b", "d"]


def test_a_note_that_was_promoted_into_other_skills_may_be_proposed_on_these() -> None:
    assert order(judged(NOTES[0], "before", result="elsewhere", promoted=True)) == ["b", "c", "d", "a"]


def test_a_judgement_that_was_cut_short_counts_for_nothing() -> None:
    assert order(judged(NOTES[0], complete=False)) == ["a", "b", "c", "d"]


def test_a_judgement_on_another_suite_counts_for_nothing() -> None:
    assert order(judged(NOTES[0], suite="wild")) == ["a", "b", "c", "d"]


JUDGEMENTS = st.lists(
    st.builds(
        judged,
        st.sampled_from(NOTES),
        st.sampled_from(["now", "before", "first"]),
        result=st.sampled_from(["now", "before", "other"]),
        suite=st.sampled_from(["starter", "wild"]),
        promoted=st.booleans(),
        complete=st.booleans(),
    ),
    max_size=6,
)


@given(JUDGEMENTS)
def test_every_note_is_proposed_at_most_once_on_the_same_skills(judgements: list[Judgement]) -> None:
    ideas = order(*judgements)

    assert len(ideas) == len(set(ideas))
    here = {
        each.idea for each in judgements if (each.base, each.suite, each.complete) == ("now", "starter", True)
    }
    assert not here & set(ideas)


@given(JUDGEMENTS)
def test_what_was_never_judged_comes_before_what_was(judgements: list[Judgement]) -> None:
    tried = {each.idea for each in judgements if each.complete and each.suite == "starter"}

    was_tried = [idea in tried for idea in order(*judgements)]

    assert was_tried == sorted(was_tried)


TEXTS = st.sampled_from(
    [
        HEAD,
        HEAD.rstrip(),
        HEAD + "\n" + FENCED,
        f"{HEAD}\n{SECTION}\n",
        f"{HEAD}\n{SECTION}",
        f"{HEAD}\n{SECTION}  \n\nOld.\n\n## Last\n\nEnd.\n",
        f"{HEAD}\n{SECTION}\n\n### x\n\n```yaml\nid: x\nrule: {{pattern: g()}}\n## a comment\n```\n\n# Other\n",
        f"{HEAD}\n```markdown\n{SECTION}\n```\n\n{FENCED}",
        f"{HEAD}\n{SECTION}\n\n~~~~\n```\n## in it\n~~~\n~~~~\n\n## Last\n",
        "",
    ]
)
LEARNINGS_TO_TRY = st.sampled_from(
    [
        note("a"),
        with_rule("b"),
        note("c", sentence=None, rule="id: c\nrule: {pattern: h()}"),
        with_rule("d", "id: d\nnote: |\n  ```python\n  f()\n  ```\nrule: {pattern: f()}\n"),
        with_rule("e", "  id: e\n"),
        note("f", sentence="Two\n\n## lines   of it.\n```"),
    ]
)


def lines_of(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


@given(TEXTS, LEARNINGS_TO_TRY)
def test_learning_adds_lines_in_one_place_and_keeps_every_other_line(text: str, learning: Learning) -> None:
    before, after = lines_of(text), lines_of(learn(text, learning))

    head = next(
        (number for number, (old, new) in enumerate(zip(before, after, strict=False)) if old != new),
        len(before),
    )
    rest = before[head:]
    assert after[:head] == before[:head]
    assert rest == after[len(after) - len(rest) :]


@given(TEXTS, LEARNINGS_TO_TRY)
def test_what_was_learned_is_held_and_was_not_before(text: str, learning: Learning) -> None:
    assert not holds(text, learning)
    assert holds(learn(text, learning), learning)
    assert holds(learn(text, learning).replace("\n", "\r\n"), learning)


@given(TEXTS, st.lists(LEARNINGS_TO_TRY, unique_by=lambda each: each.id, max_size=4))
def test_a_skill_learns_exactly_the_rules_of_its_notes_in_their_order(
    text: str, learnings: list[Learning]
) -> None:
    learned = text
    for learning in learnings:
        learned = learn(learned, learning)

    rules = [rule.text.strip("\n") for rule in rules_in_markdown(learned, "SKILL.md")]
    had = [rule.text.strip("\n") for rule in rules_in_markdown(text, "SKILL.md")]
    wanted = [each.rule.strip("\n") for each in learnings if each.rule and each.id != "e"]
    assert rules == had + wanted


@given(st.lists(LEARNINGS_TO_TRY, unique_by=lambda each: each.id, min_size=1, max_size=4))
def test_the_section_is_made_once_and_its_notes_stand_in_the_order_of_learning(
    learnings: list[Learning],
) -> None:
    learned = HEAD + "\n" + FENCED
    for learning in learnings:
        learned = learn(learned, learning)

    lines = learned.split("\n")
    assert lines.count(SECTION) == 1
    section = lines[lines.index(SECTION) :]
    assert [line for line in section if line.startswith("### ")] == [f"### {each.id}" for each in learnings]


def test_the_notes_end_where_the_next_section_begins() -> None:
    text = f"# Skill\n\n{SECTION}\n\nOld.\n\n## Last\n\nEnd.\n"

    assert learn(text, note("a")) == (
        f"# Skill\n\n{SECTION}\n\nOld.\n\n### a\n\nLook for a.\n\n## Last\n\nEnd.\n"
    )


def test_a_section_is_made_at_the_end_if_there_is_none() -> None:
    assert learn("# Skill\n\n\n", with_rule("b")) == (
        f"# Skill\n\n{SECTION}\n\n### b\n\nLook for b.\n\n"
        "```yaml\nid: b\nlanguage: python\nrule: {pattern: f()}\n```\n"
    )


def test_a_note_without_a_sentence_says_what_was_observed() -> None:
    assert "\n\nb was seen.\n\n```yaml\n" in learn(HEAD, note("b", sentence=None, rule="id: b"))


def queue(folder: Path, *notes: Learning) -> ProposerConfig:
    plain = [
        {name: value for name in each.__struct_fields__ if (value := getattr(each, name)) is not None}
        for each in notes
    ]
    (folder / "queue.jsonl").write_text("".join(json.dumps(each) + "\n" for each in plain))
    return ProposerConfig(name="learnings", queue="queue.jsonl", unapplied="offer")


def test_a_proposal_is_one_changed_file_that_an_overlay_may_hold(tmp_path: Path) -> None:
    proposal = create_proposer(queue(tmp_path, *NOTES), tmp_path).propose(setting())

    assert proposal is not None
    assert (proposal.idea, proposal.idea_digest) == ("a", NOTES[0].digest)
    assert proposal.files == {".claude/skills/code-review/SKILL.md": learn(HEAD, NOTES[0]).encode()}
    assert make_overlay(proposal.files, SPECS).touched == ("code-review",)


def test_the_case_for_a_proposal_says_what_was_seen_and_where_and_what_changes(tmp_path: Path) -> None:
    learning = with_rule("b")
    seen = note("a", rule=learning.rule, task="review-cart")

    proposal = create_proposer(queue(tmp_path, seen), tmp_path).propose(setting())

    assert proposal is not None
    assert "a was seen. (seen in review-cart)" in proposal.text
    assert (
        "`.claude/skills/code-review/SKILL.md` learns a rule from the queue's note of 2026-03-09"
        in proposal.text
    )


def test_a_note_that_stands_in_the_skill_is_not_proposed_even_without_any_history(tmp_path: Path) -> None:
    proposer = create_proposer(queue(tmp_path, *NOTES), tmp_path)

    proposal = proposer.propose(setting(text=learn(HEAD, NOTES[0])))

    assert proposal is not None
    assert proposal.idea == "b"


def test_a_note_for_a_skill_that_the_project_does_not_have_is_passed_over(tmp_path: Path) -> None:
    proposer = create_proposer(queue(tmp_path, note("x", skill="other"), note("y")), tmp_path)

    proposal = proposer.propose(setting())

    assert proposal is not None
    assert proposal.idea == "y"


def test_nothing_is_proposed_once_everything_was_judged(tmp_path: Path) -> None:
    proposer = create_proposer(queue(tmp_path, *NOTES), tmp_path)

    assert proposer.propose(setting(*map(judged, NOTES))) is None


def test_the_queue_is_read_anew_for_every_proposal(tmp_path: Path) -> None:
    proposer = create_proposer(queue(tmp_path), tmp_path)
    assert proposer.propose(setting()) is None

    queue(tmp_path, *NOTES)

    assert proposer.propose(setting()) is not None


def test_a_proposer_without_a_queue_is_refused_with_the_option_to_set(tmp_path: Path) -> None:
    with pytest.raises(ProposalError, match=r"needs a queue: proposer\.queue=FILE"):
        LEARNINGS.create(ProposerConfig(name="learnings", queue=None, unapplied="offer"), tmp_path)


def test_notes_on_skills_that_no_arm_loads_are_told(tmp_path: Path) -> None:
    lines = [{"id": name, "skill": skill, "date": "2026-03-09", "observation": "o", "sentence": "s"}
             for name, skill in (("a", "code-review"), ("b", "code-reveiw"), ("c", "code-reveiw"), ("d", "x"))]  # fmt: skip
    (tmp_path / "queue.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    proposer = create_proposer(
        ProposerConfig(name="learnings", queue="queue.jsonl", unapplied="offer"), tmp_path
    )
    assert isinstance(proposer, Remarking)
    assert list(proposer.remarks({"code-review"})) == [
        "2 of the queue's learnings are for the skill 'code-reveiw', which no arm loads; did you mean 'code-review'?",
        "1 of the queue's learnings are for the skill 'x', which no arm loads",
    ]

"""Reading a learning queue: every note in its order, or every malformed line by its number."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bench.agents
from evolve.errors import ProposalError
from evolve.propose.queue import Learning, read_queue

STARTER = Path(bench.agents.__file__).parents[1] / "starter" / "project" / "learnings"


def note(**changes: Any) -> dict[str, Any]:
    plain = {
        "id": "a",
        "skill": "code-review",
        "date": "2026-03-09",
        "observation": "It was seen.",
        "sentence": "Look for it.",
    }
    return {key: value for key, value in (plain | changes).items() if value is not ...}


def queue(folder: Path, *lines: dict[str, Any] | str) -> Path:
    path = folder / "queue.jsonl"
    texts = (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines)
    path.write_text("\n".join(texts), "utf-8")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ProposalError) as refused:
        read_queue(path)
    return str(refused.value)


def test_notes_are_read_in_the_order_of_the_file_and_blank_lines_are_none(tmp_path: Path) -> None:
    path = queue(tmp_path, note(id="b"), "", note(id="a"), " \t", note(id="c"), "")

    assert [each.id for each in read_queue(path)] == ["b", "a", "c"]


def test_a_note_holds_what_its_line_says(tmp_path: Path) -> None:
    line = note(rule="id: a\nrule: {pattern: f()}\n", task="review-cart")

    assert read_queue(queue(tmp_path, line)) == (Learning(**line),)


@pytest.mark.parametrize("character", ["\u2028", "\u0085", "é", "\u00a0"])
def test_a_note_may_hold_any_text_also_what_looks_like_a_line_break(tmp_path: Path, character: str) -> None:
    path = queue(tmp_path, note(observation=f"one{character}two"), note(id="b"))

    assert read_queue(path)[0].observation == f"one{character}two"


def test_an_empty_queue_holds_no_notes(tmp_path: Path) -> None:
    assert read_queue(queue(tmp_path)) == ()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("oops", "JSON is malformed"),
        ('{"id": "a"', "truncated"),
        ("[]", "a mapping"),
        ("[" * 100_000, "recursion"),
        (note(skill=...), "skill: must be given"),
        (note(observation=7), "observation: must be text"),
        (note(sentense="x"), "sentense: there is no such key; did you mean 'sentence'?"),
        (note(id="Not A Slug"), "id: must be"),
        (note(id="a\n# heading"), "id: must be"),
        (note(date="yesterday"), "date: must be a day"),
        (note(date="2026-13-01"), "date: must be a day"),
        (note(sentence=" "), "sentence: must be text that is not blank"),
        (note(sentence=...), "a learning needs a `rule` or a `sentence`"),
        (note(sentence="x" * 2001), "sentence: must have at most 2000 characters"),
        (note(), "the id 'a' is there already, in line 1"),
    ],
)
def test_a_malformed_line_is_named_with_its_reason(
    tmp_path: Path, line: dict[str, Any] | str, reason: str
) -> None:
    path = queue(tmp_path, note(), "", line, note(id="z"))

    said = refusal(path)

    assert f"\n  {path}:3: " in said
    assert reason in said


def test_every_malformed_line_is_named_at_once_in_their_order(tmp_path: Path) -> None:
    path = queue(tmp_path, note(id="a"), "oops", note(id="a"), note(id="b"), note(date=""))

    numbers = [int(line.split(":")[1]) for line in refusal(path).splitlines()[1:]]

    assert numbers == [2, 3, 5]


def test_of_very_many_malformed_lines_the_first_are_shown_and_the_rest_are_counted(tmp_path: Path) -> None:
    said = refusal(queue(tmp_path, *["oops"] * 50)).splitlines()

    assert len(said) == 22
    assert said[-1] == "  and 30 more"


def test_a_file_that_is_not_there_is_refused_with_the_option_that_names_it(tmp_path: Path) -> None:
    assert "see proposer.queue" in refusal(tmp_path / "nowhere.jsonl")


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "queue.jsonl").write_bytes(b'{"id": "\xff"}\n')

    assert "cannot be read" in refusal(tmp_path / "queue.jsonl")


TEXTS = st.none() | st.sampled_from(["x", "y"])


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_an_idea_is_what_the_skill_would_learn_and_nothing_else(
    rule: str | None, sentence: str | None, other_rule: str | None, other_sentence: str | None
) -> None:
    first = Learning(**note(rule=rule, sentence=sentence))
    second = Learning(
        id="other",
        skill="code-review",
        date="2020-01-01",
        observation="Something else.",
        task="elsewhere",
        rule=other_rule,
        sentence=other_sentence,
    )

    same = (rule, sentence) == (other_rule, other_sentence)
    assert (first.digest == second.digest) == same


def test_the_same_idea_for_another_skill_is_another_idea() -> None:
    assert Learning(**note()).digest != Learning(**note(skill="security-review")).digest


@pytest.mark.skipif(not STARTER.is_dir(), reason="the starter project has no learnings")
@pytest.mark.parametrize("path", sorted(STARTER.glob("*.jsonl")), ids=lambda path: path.name)
def test_the_queues_of_the_starter_project_are_well_formed(path: Path) -> None:
    assert read_queue(path)


def test_a_line_with_a_key_twice_is_refused_by_the_key(tmp_path: Path) -> None:
    line = json.dumps(note())[:-1] + ', "sentence": "Another."}'
    assert "the key 'sentence' is there twice" in refusal(queue(tmp_path, note(id="y"), line))

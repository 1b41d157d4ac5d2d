"""What earlier generations judged: the chain of promotions, and the one that nobody applied."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.gate import (
    Decision,
    Evidence,
    PromotionMetadata,
    Verdict,
    promotion_document,
    write_promotion,
)
from evolve.history import (
    History,
    Judgement,
    judged_on,
    promoted_into,
    read_history,
    skills_digest,
    unapplied_promotion,
)


def judgement(
    base: str,
    result: str,
    decision: Decision = "promote",
    *,
    suite: str = "starter",
    complete: bool = True,
    generation: int = 1,
) -> Judgement:
    return Judgement(
        agent="rulebook/1",
        policy="threshold_review",
        contained=True,
        run="r",
        generation=generation,
        idea=f"{base}→{result}",
        idea_digest=f"digest of {base}→{result}",
        suite=suite,
        base=base,
        result=result,
        decision=decision,
        complete=complete,
    )


A_TO_B = judgement("A", "B")
B_TO_C = judgement("B", "C", generation=2)
B_TO_A = judgement("B", "A", generation=3)


def test_the_identity_of_skills_does_not_depend_on_their_order() -> None:
    assert skills_digest({"a": "1", "b": "2"}) == skills_digest({"b": "2", "a": "1"})
    assert skills_digest({"a": "1"}) != skills_digest({"a": "2"})


def test_skills_hold_the_promotions_that_led_to_them_oldest_first() -> None:
    history = [A_TO_B, judgement("B", "X", "keep_incumbent"), B_TO_C, judgement("A", "Y")]

    assert promoted_into(history, "C") == (A_TO_B, B_TO_C)
    assert promoted_into(history, "B") == (A_TO_B,)
    assert promoted_into(history, "A") == ()


def test_a_candidate_that_was_not_promoted_is_in_no_skills() -> None:
    assert promoted_into([judgement("A", "B", "keep_incumbent")], "B") == ()


def test_a_chain_never_uses_what_was_only_promoted_later() -> None:
    assert promoted_into([B_TO_C, A_TO_B], "C") == (B_TO_C,)


def test_a_chain_that_came_back_to_where_it_began_ends() -> None:
    assert promoted_into([A_TO_B, B_TO_A], "A") == (A_TO_B, B_TO_A)
    assert promoted_into([A_TO_B, B_TO_A], "B") == (A_TO_B,)


def test_a_promotion_that_nobody_applied_is_found() -> None:
    assert unapplied_promotion([A_TO_B], "A", "starter") == A_TO_B


def test_a_promotion_is_applied_once_the_skills_are_its_result() -> None:
    assert unapplied_promotion([A_TO_B], "B", "starter") is None


def test_of_a_chain_the_last_promotion_is_offered_also_to_skills_in_its_middle() -> None:
    history = [A_TO_B, B_TO_C]

    assert unapplied_promotion(history, "A", "starter") == B_TO_C
    assert unapplied_promotion(history, "B", "starter") == B_TO_C
    assert unapplied_promotion(history, "C", "starter") is None


def test_the_newest_of_two_promotions_from_the_same_skills_is_offered() -> None:
    newer = judgement("A", "D", generation=2)

    assert unapplied_promotion([A_TO_B, newer], "A", "starter") == newer


def test_a_promotion_from_other_skills_is_not_offered() -> None:
    assert unapplied_promotion([A_TO_B], "Z", "starter") is None


def test_a_promotion_on_another_suite_is_not_offered() -> None:
    assert unapplied_promotion([judgement("A", "B", suite="wild")], "A", "starter") is None


@pytest.mark.parametrize("decision", ["keep_incumbent", "insufficient_evidence"])
def test_only_promotions_are_offered(decision: Decision) -> None:
    assert unapplied_promotion([judgement("A", "B", decision)], "A", "starter") is None


def test_a_promotion_that_was_applied_and_later_undone_by_another_is_not_offered_again() -> None:
    assert unapplied_promotion([A_TO_B, B_TO_A], "A", "starter") is None
    assert unapplied_promotion([A_TO_B, B_TO_A], "B", "starter") == B_TO_A


def test_a_promotion_that_was_reached_twice_is_not_offered_to_its_own_result() -> None:
    again = judgement("A", "B", generation=4)

    assert unapplied_promotion([B_TO_A, A_TO_B, again], "B", "starter") is None


HISTORIES = st.lists(
    st.builds(
        judgement,
        st.sampled_from("ABCD"),
        st.sampled_from("ABCD"),
        st.sampled_from(["promote", "keep_incumbent", "insufficient_evidence"]),
        complete=st.booleans(),
        generation=st.integers(1, 3),
    ),
    max_size=8,
)


@given(HISTORIES, st.sampled_from("ABCD"))
def test_a_chain_is_linked_promotions_that_end_in_the_skills(history: list[Judgement], base: str) -> None:
    chain = promoted_into(history, base)

    assert all(each.decision == "promote" for each in chain)
    assert [each.result for each in chain] == [each.base for each in chain[1:]] + [base] * bool(chain)


@given(HISTORIES, st.sampled_from("ABCD"))
def test_what_is_offered_can_be_reached_from_the_skills_and_is_not_what_they_are(
    history: list[Judgement], base: str
) -> None:
    offered = unapplied_promotion(history, base, "starter")

    if offered is not None:
        assert offered.result != base
        assert base in {link.base for link in promoted_into(history, offered.result)}


@given(HISTORIES, st.sampled_from("ABCD"))
def test_an_idea_was_judged_on_exactly_the_skills_that_it_was_measured_against(
    history: list[Judgement], base: str
) -> None:
    expected = {each.idea_digest for each in history if each.base == base and each.complete}

    assert judged_on(history, base=base, suite="starter") == expected
    assert judged_on(history, base=base, suite="wild") == frozenset()


def write(
    root: Path,
    run: str,
    generation: int,
    *,
    stopped: str | None = None,
    exit_code: int = 0,
    decision: Decision = "keep_incumbent",
) -> Path:
    """A generation's promotion.json, as a run leaves it."""
    folder = root / "runs" / run / f"gen-{generation}"
    folder.mkdir(parents=True)
    metadata = PromotionMetadata(
        contained=True,
        generated_at=datetime(2026, 1, 1, tzinfo=UTC),
        run=run,
        generation=generation,
        idea=f"idea {generation}",
        idea_digest="1" * 64,
        suite="starter",
        suite_digest="2" * 64,
        overlay="3" * 64,
        base_skills={"code-review": "4" * 64},
        result_skills={"code-review": "5" * 64},
        agent="rulebook/1",
        configuration="6" * 64,
        rows="7" * 64,
        exit_code=exit_code,
    )
    evidence = Evidence(
        schema_version=1, model=None, deterministic=True, stopped=stopped, split="all", pairs=()
    )
    verdict = Verdict(
        decision=decision, reasons=("worse",), policy="p", parameters={}, metric="weighted F1", pairs=()
    )
    write_promotion(folder / "promotion.json", promotion_document(evidence, verdict, metadata))
    return folder


EARLY, LATE = "20260101T000000Z-aaaaaa-0000", "20260102T000000Z-aaaaaa-0000"


def test_history_is_read_in_the_order_of_runs_and_generations(tmp_path: Path) -> None:
    for run, generation in ((LATE, 1), (EARLY, 10), (EARLY, 2)):
        write(tmp_path, run, generation)

    found = [(each.run, each.generation) for each in read_history(tmp_path).judgements]

    assert found == [(EARLY, 2), (EARLY, 10), (LATE, 1)]


def test_a_judgement_says_what_its_file_says(tmp_path: Path) -> None:
    write(tmp_path, EARLY, 1)

    assert read_history(tmp_path).judgements == (
        Judgement(
            agent="rulebook/1",
            policy="p",
            contained=True,
            run=EARLY,
            generation=1,
            idea="idea 1",
            idea_digest="1" * 64,
            suite="starter",
            base=skills_digest({"code-review": "4" * 64}),
            result=skills_digest({"code-review": "5" * 64}),
            decision="keep_incumbent",
            complete=True,
        ),
    )


@pytest.mark.parametrize(("stopped", "exit_code"), [("breaker", 1), ("deadline", 3), (None, 1)])
def test_a_generation_that_was_cut_short_is_not_complete(
    tmp_path: Path, stopped: str | None, exit_code: int
) -> None:
    write(tmp_path, EARLY, 1, stopped=stopped, exit_code=exit_code)

    assert [each.complete for each in read_history(tmp_path).judgements] == [False]


def test_a_generation_without_a_verdict_and_folders_that_are_none_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, EARLY, 1)
    run = tmp_path / "runs" / EARLY
    (run / "gen-2").mkdir()
    for name in ("gen-1.bak", "gen-", "gen-x"):
        (run / name).mkdir()
        (run / name / "promotion.json").write_text("{}")

    assert len(read_history(tmp_path).judgements) == 1


def test_a_file_that_was_edited_is_passed_over_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, EARLY, 1) / "promotion.json"
    path.write_bytes(path.read_bytes().replace(b"idea 1", b"idea 2") + b"\n")

    write(tmp_path, LATE, 1)
    history = read_history(tmp_path)

    assert [each.run for each in history.judgements] == [LATE]
    (line,) = history.skipped
    assert line.startswith(f"{path} is passed over: ")
    assert "not as it was written" in line
    assert "\n" not in line


def test_a_promotion_with_nothing_but_itself_is_believed_in_nothing(tmp_path: Path) -> None:
    write(tmp_path, EARLY, 1, decision="promote")

    history = read_history(tmp_path)

    assert history.judgements == ()
    assert "config.json cannot be read" in history.skipped[0]


def test_a_project_without_runs_has_no_history(tmp_path: Path) -> None:
    assert read_history(tmp_path) == History(judgements=(), skipped=())

"""What `exact` and `anytime` make of an agent that does the same thing every time."""

from typing import Any

import msgspec
import pytest
from testing_builders import options, outcomes, policy, search, with_rows

from evolve.gate import Evidence, Policy

WIN, SAME = (False, True), (True, True)
BOTH = pytest.mark.parametrize("name", ["exact", "anytime"])
MANY = [[WIN]] * 12


def reused(_: str, row: Any) -> Any:
    return msgspec.structs.replace(row, fresh=False)


def misjudging(evidence: Evidence, *tasks: str) -> Evidence:
    """The candidate's verdict is wrong on these, its outcome as before."""

    def wrong(task: str, row: Any) -> Any:
        score = msgspec.structs.replace(row.score, verdict_right=task not in tasks)
        return msgspec.structs.replace(row, score=score)

    def right(_: str, row: Any) -> Any:
        return msgspec.structs.replace(row, score=msgspec.structs.replace(row.score, verdict_right=True))

    return with_rows(with_rows(evidence, "incumbent", right), "candidate", wrong)


@BOTH
def test_its_earlier_rows_move_the_champion_but_release_nothing(name: str) -> None:
    made = with_rows(outcomes(MANY, deterministic=True), "incumbent", reused)
    assert search(name).decide(made).decision == "promote"
    assert policy(name).decide(made).decision == "insufficient_evidence"


@BOTH
def test_earlier_rows_of_one_that_varies_move_no_champion(name: str) -> None:
    made = with_rows(outcomes([[WIN, WIN]] * 12), "incumbent", reused)
    assert search(name).decide(made).decision == "insufficient_evidence"


@pytest.mark.parametrize("chosen", [search(), policy()])
def test_one_verdict_that_it_now_gets_wrong_breaks_the_guard(chosen: Policy) -> None:
    made = outcomes(MANY, deterministic=True)
    assert chosen.decide(misjudging(made)).decision == "promote"
    verdict = chosen.decide(misjudging(made, "t3"))
    assert verdict.decision == "keep_incumbent"
    assert "guard verdict_right: t3 is worse than the margin of 0.2" in verdict.reasons


def test_one_wrong_verdict_of_one_that_varies_is_no_evidence_of_harm() -> None:
    made = outcomes([[WIN, WIN]] * 12)
    assert search().decide(misjudging(made, "t3")).decision == "promote"


def test_what_its_work_takes_varies_all_the_same() -> None:
    def slower(task: str, row: Any) -> Any:
        return msgspec.structs.replace(row, seconds=3 * row.seconds) if task == "t3" else row

    made = with_rows(outcomes(MANY, deterministic=True), "candidate", slower)
    assert search().decide(made).decision == "promote"


def test_the_gain_that_is_reported_is_that_of_fresh_rows() -> None:
    """Repeat 0 was measured before, when the incumbent looked worse than it is."""
    table = [[WIN, SAME, WIN]] * 6

    def earlier(_: str, row: Any) -> Any:
        return msgspec.structs.replace(row, fresh=row.repeat != 0)

    verdict = search(guards=dict.fromkeys(options()["guards"])).decide(
        with_rows(outcomes(table), "incumbent", earlier)
    )
    assert verdict.decision == "promote"
    assert verdict.pairs[0].statistics.effect == 50.0
    assert verdict.pairs[0].means["all"] == (0.5, 1.0)
    assert {each.incumbent for each in verdict.pairs[0].tasks} == {0.5}

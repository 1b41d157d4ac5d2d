"""What a run's end is called, whatever ended it before: an outage is 1, a budget 3, Ctrl-C 130; then it goes on."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from bench.exits import ExitCode
from tests.chaos.case import NEVER, Case, Point, Undisturbed
from tests.chaos.remains import Remains, lines, verdict

pytestmark = pytest.mark.e2e
TIGHT = ("breaker=2", "retries=0")
CTRL_C = Point("session", "running", 1, "SIGINT")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Case(tmp_path_factory.mktemp("undisturbed") / "case", "host").undisturbed()


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path / "case", "host")


def begin(case: Case, *words: str, point: Point = NEVER) -> int:
    return case.evolve(point, *case.project.words, *words).returncode


def resume(case: Case, point: Point = NEVER) -> int:
    return case.evolve(point, "resume", case.project.run.name).returncode


def stopped(case: Case) -> Any:
    return json.loads((case.project.run / "gen-1" / "promotion.json").read_bytes())["evidence"]["stopped"]


def attempts(case: Case) -> list[tuple[str, str, int, str]]:
    rows = lines(case.project.run / "gen-1" / "results.jsonl")
    return [
        (
            row["identity"]["task"],
            row["identity"]["arm"],
            row["identity"]["attempt"],
            row["outcome"]["status"],
        )
        for row in rows
    ]


def ended_as_undisturbed(case: Case, expected: Undisturbed) -> None:
    assert Remains.of(case.project.run).measured == expected.measured
    assert json.loads(verdict(case.project.run))["decision"] == json.loads(expected.verdict)["decision"]
    assert stopped(case) is None


def test_an_outage_is_1_and_what_failed_is_measured_as_a_new_attempt_once_it_is_over(
    case: Case, expected: Undisturbed
) -> None:
    case.project.breaks("all")
    assert begin(case, *TIGHT) == ExitCode.UNUSABLE
    assert stopped(case) == "breaker"
    assert resume(case) == ExitCode.UNUSABLE, "it is not over"
    case.project.breaks(None)
    assert resume(case) == ExitCode.VERDICT
    ended_as_undisturbed(case, expected)
    assert attempts(case)[:2] == [
        ("review", "review", 0, "failed"),
        ("review", "candidate_review", 0, "failed"),
    ]


def test_an_outage_then_ctrl_c_then_the_end(case: Case, expected: Undisturbed) -> None:
    case.project.breaks("all")
    assert begin(case, *TIGHT) == ExitCode.UNUSABLE
    case.project.breaks(None)
    assert resume(case, CTRL_C) == ExitCode.INTERRUPTED
    assert resume(case) == ExitCode.VERDICT
    ended_as_undisturbed(case, expected)


def test_ctrl_c_then_an_outage_then_the_end(case: Case, expected: Undisturbed) -> None:
    assert begin(case, *TIGHT, point=Point("session", "running", 4, "SIGINT")) == ExitCode.INTERRUPTED
    case.project.breaks("all")
    assert resume(case) == ExitCode.UNUSABLE
    case.project.breaks(None)
    assert resume(case) == ExitCode.VERDICT
    ended_as_undisturbed(case, expected)


def test_a_budget_is_3_again_and_nothing_more_is_started(case: Case) -> None:
    assert begin(case, "budget.sessions=11", *TIGHT) == ExitCode.BUDGET
    starts = case.project.starts()
    assert len(starts) <= 11
    assert resume(case) == ExitCode.BUDGET
    assert case.project.starts() == starts
    assert stopped(case) == "budget-exhausted"


def test_ctrl_c_and_a_kill_do_not_refill_a_budget(case: Case) -> None:
    point = Point("session", "running", 3, "SIGINT")
    assert begin(case, "budget.sessions=11", *TIGHT, point=point) == ExitCode.INTERRUPTED
    assert resume(case, Point("session", "running", 1)) == -signal.SIGKILL
    assert resume(case) == ExitCode.BUDGET
    assert len(case.project.starts()) <= 11


def test_a_success_that_is_settled_resets_the_breaker_in_its_place_of_the_order(case: Case) -> None:
    case.project.breaks("plan brief")
    assert begin(case, *TIGHT) == ExitCode.VERDICT, "a success of the incumbent lies between two failures"
    failed = [each for each in attempts(case) if each[3] == "failed"]
    assert [each[:3] for each in failed] == [("one", "candidate_work", 0), ("two", "candidate_work", 0)]
    done = case.evolve(NEVER, "topup", case.project.run.name)
    assert done.returncode == ExitCode.VERDICT, done.stderr
    assert stopped(case) is None, "so it does for what is measured again"
    assert [each[:3] for each in attempts(case)[6:]] == [
        ("one", "candidate_work", 1),
        ("two", "candidate_work", 1),
    ]


def test_a_topup_measures_what_failed_and_decides_again(case: Case, expected: Undisturbed) -> None:
    case.project.breaks("plan brief")
    assert begin(case, *TIGHT) == ExitCode.VERDICT
    assert "candidate_work" in verdict(case.project.run).decode()
    case.project.breaks(None)
    assert (
        case.evolve(Point("journal", "after", 1), "topup", case.project.run.name).returncode
        == -signal.SIGKILL
    )
    assert not (case.project.run / "gen-1" / "promotion.json").exists(), "it would be of other rows"
    assert resume(case) == ExitCode.VERDICT
    ended_as_undisturbed(case, expected)
    assert resume(case) == ExitCode.VERDICT

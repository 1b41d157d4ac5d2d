from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from row_builders import make_row

from bench.exits import ExitCode
from bench.results import ArmHealth, Kind, Reused, Row, State, StopCause, exit_code, health

ARMS = {"no_skill": "comparator", "review": "incumbent", "candidate_review": "candidate"}


def of(*kinds: Kind | None, arm: str = "review") -> ArmHealth:
    return health(
        [make_row(arm=arm, repeat=repeat, kind=kind) for repeat, kind in enumerate(kinds)], {arm: ARMS[arm]}
    )[0]


@pytest.mark.parametrize(
    ("kinds", "state"),
    [
        ((), "UNKNOWN"),
        (("cancelled",), "UNKNOWN"),
        ((None,), "OK"),
        (("oracle-failed", "cancelled"), "OK"),
        (("oracle-failed", "session-error"), "DEGRADED"),
        (("review-invalid",), "UNUSABLE"),
        (("infra-error", "cancelled"), "UNUSABLE"),
    ],
)
def test_the_state_of_an_arm(kinds: Sequence[Kind | None], state: State) -> None:
    assert of(*kinds).state == state


@given(
    st.lists(st.sampled_from(("oracle-failed", "agent-timeout", "skill-not-invoked", "tampered")), min_size=1)
)
def test_resolving_nothing_is_never_a_health_problem(kinds: Sequence[Kind | None]) -> None:
    assert of(*kinds).state == "OK"


def test_a_broken_attempt_stays_visible_after_a_retry_that_worked() -> None:
    one = health([make_row(kind="session-error"), make_row(attempt=1)], {"review": "incumbent"})[0]
    assert (one.state, one.attempts, one.measured, one.broken) == ("DEGRADED", 2, 1, {"session-error": 1})


def test_every_arm_is_reported_in_its_order_also_without_rows() -> None:
    found = health([make_row(arm="review")], ARMS)
    assert [(each.arm, each.state) for each in found] == [
        ("no_skill", "UNKNOWN"),
        ("review", "OK"),
        ("candidate_review", "UNKNOWN"),
    ]


@pytest.mark.parametrize(
    ("broken", "code"),
    [("candidate_review", ExitCode.VERDICT), ("review", ExitCode.UNUSABLE), ("no_skill", ExitCode.UNUSABLE)],
)
def test_only_a_candidate_that_cannot_be_measured_is_a_verdict(broken: str, code: int) -> None:
    rows = [make_row(arm=arm, kind="review-invalid" if arm == broken else None) for arm in ARMS]
    assert exit_code(health(rows, ARMS), None) == code


def test_arms_that_break_alike_are_an_outage() -> None:
    rows = [make_row(arm=arm, kind="session-error") for arm in ARMS]
    assert exit_code(health(rows, ARMS), None) == ExitCode.UNUSABLE


@pytest.mark.parametrize(
    ("cause", "code"),
    [("cancelled", 130), ("breaker", 1), ("budget-exhausted", 3), ("deadline", 3)],
)
@pytest.mark.parametrize("kind", [None, "session-error"])
def test_what_stopped_the_sweep_comes_first(cause: StopCause, code: int, kind: Kind | None) -> None:
    assert exit_code(health([make_row(kind=kind)], {"review": "incumbent"}), cause) == code


def test_reused_rows_say_nothing_about_the_environment_of_today() -> None:
    def reused(repeat: int) -> Row:
        row = make_row(repeat=repeat, kind=None)
        return structs.replace(row, reuse=Reused("r", row.finished_at))

    arms = {"review": ARMS["review"]}
    assert health([reused(0), reused(1)], arms)[0].state == "UNKNOWN"
    broken = make_row(repeat=2, kind="session-error")
    (found,) = health([reused(0), broken], arms)
    assert (found.state, found.attempts, found.measured) == ("UNUSABLE", 1, 0)

"""Deriving the arms of a change: exactly those that can measure it (L16, L17)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.config import ArmSpec, Role
from bench.errors import OverlayError
from bench.skills import required_arms


def arm(role: Role, *skills: str, of: str | None = None, family: str | None = None) -> ArmSpec:
    return ArmSpec(role=role, sessions={}, candidate_of=of, skills=skills, family=family)


ARMS = {
    "workflow": arm("incumbent", "plan", "work"),
    "candidate_workflow": arm("candidate", "plan", "work", of="workflow"),
    "direct": arm("incumbent", "work"),
    "candidate_direct": arm("candidate", "work", of="direct"),
    "review": arm("incumbent", "review"),
    "candidate_review": arm("candidate", "review", of="review"),
    "no_skill": arm("comparator"),
    "foreign": arm("comparator", "review", family="plugin"),
    "broken_agent": arm("control"),
}
BACKGROUND = ("foreign", "no_skill", "broken_agent")


@pytest.mark.parametrize(
    ("touched", "expected"),
    [
        (["plan"], ("workflow", "candidate_workflow")),
        (["work"], ("direct", "candidate_direct", "workflow", "candidate_workflow")),
        (["review"], ("review", "candidate_review")),
        (["plan", "review"], ("review", "candidate_review", "workflow", "candidate_workflow")),
    ],
)
def test_the_arms_are_exactly_those_that_load_a_touched_skill(
    touched: list[str], expected: tuple[str, ...]
) -> None:
    assert required_arms(ARMS, touched) == (*BACKGROUND, *expected)


def test_without_a_proposal_every_incumbent_is_measured_and_no_candidate() -> None:
    assert required_arms(ARMS, None) == (*BACKGROUND, "direct", "review", "workflow")


def refusal(arms: dict[str, ArmSpec], *touched: str) -> str:
    with pytest.raises(OverlayError) as caught:
        required_arms(arms, touched)
    return str(caught.value)


def test_a_skill_that_no_incumbent_loads_would_not_be_measured() -> None:
    assert refusal(ARMS, "debug", "plan") == (
        "the overlay cannot be measured with these arms:\n"
        "  it touches skill `debug`, which no selected incumbent arm loads: nothing would measure it"
    )


def test_an_arm_with_a_family_of_its_own_does_not_load_the_projects_skill() -> None:
    arms = {
        "review": arm("incumbent", "review", family="plugin"),
        "c": arm("candidate", "review", of="review"),
    }
    assert "which no selected incumbent arm loads" in refusal(arms, "review")


def test_an_incumbent_without_a_candidate_would_measure_nothing() -> None:
    said = refusal({"review": arm("incumbent", "review")}, "review")
    assert "arm `review` loads a touched skill, but no arm has `candidate_of: review`" in said


def test_a_candidate_that_does_not_load_the_changed_skill_would_measure_noise() -> None:
    arms = {"flow": arm("incumbent", "plan", "work"), "new": arm("candidate", "work", of="flow")}
    assert "arm `new` does not load skill `plan`, as `flow` does" in refusal(arms, "plan")
    assert required_arms(arms, ["work"]) == ("flow", "new")


def test_several_candidates_follow_their_incumbent_by_name() -> None:
    arms = {
        "b": arm("candidate", "s", of="i"),
        "i": arm("incumbent", "s"),
        "a": arm("candidate", "s", of="i"),
    }
    assert required_arms(arms, ["s"]) == ("i", "a", "b")


@given(st.permutations(sorted(ARMS)), st.sets(st.sampled_from(["plan", "work", "review"]), min_size=1))
def test_the_order_of_the_configuration_does_not_matter(order: list[str], touched: set[str]) -> None:
    assert required_arms({name: ARMS[name] for name in order}, touched) == required_arms(
        ARMS, sorted(touched)
    )

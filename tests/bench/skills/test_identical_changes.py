"""The alarm of L1: two arms of a task that left exactly the same change."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from bench.skills import ArmChange, IdenticalChange, identical_changes

CHANGES = st.lists(
    st.builds(
        ArmChange,
        st.sampled_from("tu"),
        st.sampled_from("ab"),
        st.integers(0, 1),
        st.sampled_from([None, "x", "y"]),
    ),
    unique_by=lambda change: (change.task, change.arm, change.repeat),
)


def test_the_same_change_of_two_arms_is_reported_with_its_cells() -> None:
    changes = [ArmChange("t", "b", 1, "x"), ArmChange("t", "a", 0, "x"), ArmChange("t", "a", 1, "y")]
    assert identical_changes(changes) == (IdenticalChange("t", "x", (("a", 0), ("b", 1))),)


def test_repeats_of_one_arm_other_tasks_and_empty_changes_are_no_alarm() -> None:
    changes = [
        ArmChange("t", "a", 0, "x"),
        ArmChange("t", "a", 1, "x"),
        ArmChange("u", "b", 0, "x"),
        ArmChange("u", "a", 0, None),
        ArmChange("u", "b", 1, None),
    ]
    assert identical_changes(changes) == ()


@given(CHANGES, st.randoms())
def test_an_alarm_says_of_every_pair_of_arms_whether_they_agree(
    changes: list[ArmChange], random: Random
) -> None:
    alarms = identical_changes(changes)
    pairs = {
        (one.task, one.fingerprint)
        for one in changes
        for two in changes
        if one.task == two.task and one.arm != two.arm and one.fingerprint == two.fingerprint is not None
    }
    assert {(alarm.task, alarm.fingerprint) for alarm in alarms} == pairs
    random.shuffle(changes)
    assert identical_changes(changes) == alarms

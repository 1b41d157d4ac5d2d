"""Selecting tasks: every task is measured or has a reason."""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.config import TaskFilter
from bench.errors import SuiteError
from bench.suite import LabelOracle, Split, Suite, Task, TreeSource, select_tasks


def task(name: str, class_: str = "review-clean", split: Split = "train", *, expensive: bool = False) -> Task:
    return Task(
        id=name,
        class_=class_,
        split=split,
        source=TreeSource(Path("t"), "0"),
        change="all",
        prompt="p",
        setup="",
        verify="",
        oracle=LabelOracle((), "0"),
        expensive=expensive,
    )


def suite(*tasks: Task) -> Suite:
    return Suite("s", Path("s"), tasks, "0")


def wanted(name: str = "*", class_: str = "*", split: str = "*") -> TaskFilter:
    return TaskFilter(id=name, class_=class_, split=split)


MIXED = suite(
    task("a-one"), task("a-two", "trivial", "holdout"), task("b-one", split="holdout", expensive=True)
)


def test_patterns_choose_and_each_other_task_has_a_reason() -> None:
    selection = select_tasks(MIXED, wanted("a-*", split="holdout"), include_expensive=True)
    assert [each.id for each in selection.tasks] == ["a-two"]
    assert selection.skipped == {
        "a-one": "its split does not match tasks.split=holdout",
        "b-one": "its id does not match tasks.id=a-*",
    }


def test_expensive_tasks_are_skipped_by_name_unless_asked_for() -> None:
    skipped = select_tasks(MIXED, wanted(), include_expensive=False).skipped
    assert skipped == {"b-one": "expensive; include_expensive=true measures it"}
    assert not select_tasks(MIXED, wanted(), include_expensive=True).skipped


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (
            wanted(split="holdot"),
            "tasks.split=holdot matches none of its 3 tasks; did you mean 'holdout'?\n  there is: holdout, train",
        ),
        (wanted(class_="x"), "tasks.class=x matches none of its 3 tasks\n  there is: review-clean, trivial"),
        (
            wanted("a-onne"),
            "tasks.id=a-onne matches none of its 3 tasks; did you mean 'a-one'?\n  there is: a-one, a-two, b-one",
        ),
    ],
)
def test_a_pattern_that_matches_nothing_is_told_shortly_with_what_there_is(
    pattern: TaskFilter, said: str
) -> None:
    with pytest.raises(SuiteError) as caught:
        select_tasks(MIXED, pattern, include_expensive=False)
    assert str(caught.value) == f"no task of the suite `s` is selected: {said}"


def test_tasks_that_one_pattern_skips_have_one_reason() -> None:
    large = suite(*(task(f"t{number:03}") for number in range(500)))
    skipped = select_tasks(large, wanted("t000"), include_expensive=False).skipped
    assert set(skipped.values()) == {"its id does not match tasks.id=t000"}


def test_a_large_suite_is_not_listed_in_full() -> None:
    large = suite(*(task(f"t{number:03}") for number in range(500)))
    with pytest.raises(SuiteError) as caught:
        select_tasks(large, wanted("x"), include_expensive=False)
    assert str(caught.value).endswith("t008, t009, …")
    with pytest.raises(SuiteError) as caught:
        select_tasks(
            suite(*(task(f"e{n}", expensive=True) for n in range(9))), wanted(), include_expensive=False
        )
    assert str(caught.value).splitlines()[1:] == ["  9 tasks: expensive; include_expensive=true measures it"]


@given(
    st.lists(
        st.builds(task, st.from_regex("[ab]{1,3}", fullmatch=True), expensive=st.booleans()),
        max_size=6,
        unique_by=lambda each: each.id,
    ),
    st.sampled_from(["*", "a*", "?", "[ab]b*"]),
    st.booleans(),
)
def test_every_task_is_chosen_or_skipped(tasks: list[Task], pattern: str, include: bool) -> None:
    expected = [each for each in tasks if fnmatchcase(each.id, pattern) and (include or not each.expensive)]
    if not expected:
        with pytest.raises(SuiteError):
            select_tasks(suite(*tasks), wanted(pattern), include_expensive=include)
        return
    selection = select_tasks(suite(*tasks), wanted(pattern), include_expensive=include)
    assert list(selection.tasks) == expected
    assert {each.id for each in tasks} == {each.id for each in expected} | set(selection.skipped)

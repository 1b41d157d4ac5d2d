"""The front of quality and cost, the intervals, and the picture."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.multirun import Dot, Span, pareto_front, picture, task_span

places = st.lists(st.tuples(st.integers(0, 6).map(float), st.integers(0, 6).map(float)), max_size=12)


def beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] <= other[0] and one[1] >= other[1]


@given(places)
def test_on_the_front_is_exactly_what_nothing_else_beats(found: list[tuple[float, float]]) -> None:
    assert list(pareto_front(found)) == [not any(beats(each, place) for each in found) for place in found]


values = st.lists(
    st.tuples(st.sampled_from(["t1", "t2", "t3"]), st.floats(0, 1, allow_nan=False)), min_size=1, max_size=12
)


@given(values, st.randoms())
def test_an_interval_does_not_depend_on_the_order_of_rows_and_lies_within_the_tasks(
    found: list[tuple[str, float]], chance: object
) -> None:
    mixed = list(found)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    span = task_span(found, 3)
    assert span is not None
    assert span == task_span(mixed, 3)
    assert min(v for _, v in found) - 1e-9 <= span.low <= span.high <= max(v for _, v in found) + 1e-9


def test_one_unknown_number_makes_the_whole_unknown() -> None:
    assert task_span([("t1", 1.0), ("t2", None)], 0) is None
    assert task_span([], 0) is None


def test_all_tasks_alike_leave_no_doubt_and_a_task_counts_once_however_often_it_was_repeated() -> None:
    assert task_span([("t1", 0.5), ("t2", 0.5)], 0) == Span(0.5, 0.5, 0.5)
    span = task_span([("t1", 1.0)] * 9 + [("t2", 0.0)], 0)
    assert span is not None
    assert (span.value, span.low, span.high) == (0.5, 0.0, 1.0)


def dot(model: str, cost: float | None, front: bool) -> Dot:
    span = None if cost is None else Span(cost, cost / 2, cost * 2)
    return Dot(
        points=(1,), agent="a", model=model, effort="low", role="candidate", cells=4, tasks=2,
        quality=Span(0.5, 0.25, 0.75), cost=span, front=front,
    )  # fmt: skip


def test_the_picture_stands_alone_and_says_what_it_leaves_out() -> None:
    text = picture([dot("<big>", 0.5, True), dot("small", 0.1, False), dot("free", None, False)], "a & b")
    ET.fromstring(text)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert text.count("<circle cx") - 1 == 2
    assert "&lt;big&gt; low" in text
    assert "1 of 3 have no known cost" in text


@pytest.mark.parametrize("dots", [[], [dot("a", 0.0, True)]])
def test_a_picture_of_nothing_or_of_what_costs_nothing_can_be_drawn(dots: list[Dot]) -> None:
    root = ET.fromstring(picture(dots, "x"))
    assert root.tag.endswith("svg")
    # one for each dot, and one for its role in the legend
    assert sum(each.tag.endswith("circle") for each in root.iter()) == 2 * len(dots)

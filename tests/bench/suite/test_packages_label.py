"""Which files make a task, and how ruff's remarks become labels."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from bench.suite.packages_label import Remark, as_labels, take_files

COUNTS = st.dictionaries(
    st.text("abc/", min_size=1, max_size=6).map(lambda stem: f"{stem}.py"), st.integers(0, 100), max_size=12
)
WANTED = st.integers(1, 80)


def remark(code: str, first: tuple[int, int], last: tuple[int, int]) -> Remark:
    document = {
        "code": code,
        "filename": "/tree/a.py",
        "location": {"row": first[0], "column": first[1]},
        "end_location": {"row": last[0], "column": last[1]},
    }
    return msgspec.convert(document, Remark)


@given(COUNTS, WANTED)
def test_a_task_never_holds_more_than_five_quarters_of_what_was_wanted(
    counts: dict[str, int], wanted: int
) -> None:
    assert sum(counts[path] for path in take_files(counts, wanted)) <= wanted * 5 / 4


@given(COUNTS, WANTED)
def test_files_are_taken_in_order_and_only_those_that_do_not_fit_are_passed_over(
    counts: dict[str, int], wanted: int
) -> None:
    taken = take_files(counts, wanted)

    assert list(taken) == sorted(taken)
    last = max(taken, default="")
    for path in sorted(set(counts) - set(taken)):
        held = sum(counts[each] for each in taken if each < path)
        assert held >= wanted or held + counts[path] > wanted * 5 // 4
        assert held < wanted or path > last


@given(COUNTS, WANTED)
def test_a_package_that_fits_is_taken_whole(counts: dict[str, int], wanted: int) -> None:
    if sum(counts.values()) < wanted:
        assert set(take_files(counts, wanted)) == set(counts)


@given(st.dictionaries(st.sampled_from(["a.py", "b.py"]), st.just(0)), WANTED)
def test_a_package_without_labels_is_taken_whole(counts: dict[str, int], wanted: int) -> None:
    assert take_files(counts, wanted) == tuple(sorted(counts))


def test_a_label_covers_the_lines_that_hold_something_of_the_remark() -> None:
    remarks = [
        ("a.py", remark("S110", (3, 1), (5, 9))),
        ("a.py", remark("B904", (7, 5), (8, 1))),
        ("a.py", remark("C408", (9, 1), (9, 1))),
    ]

    labels = as_labels(remarks, "medium")

    assert [(label.line_start, label.line_end) for label in labels] == [(3, 5), (7, 7), (9, 9)]


@given(st.permutations([("a.py", 4), ("a.py", 11), ("b.py", 2), ("b.py", 2)]))
def test_labels_do_not_depend_on_the_order_of_the_remarks(places: list[tuple[str, int]]) -> None:
    labels = as_labels([(path, remark("C408", (row, 1), (row, 3))) for path, row in places], "low")

    assert [(label.id, label.path, label.line_start) for label in labels] == [
        ("C408-001", "a.py", 4),
        ("C408-002", "a.py", 11),
        ("C408-003", "b.py", 2),
        ("C408-004", "b.py", 2),
    ]
    assert {label.severity for label in labels} == {"low"}


@given(st.lists(st.tuples(st.integers(1, 9), st.sampled_from(["B904", "C408"])), max_size=20))
def test_the_ids_of_a_task_are_unique(places: list[tuple[int, str]]) -> None:
    labels = as_labels([("a.py", remark(code, (row, 1), (row, 2))) for row, code in places], "medium")

    assert len({label.id for label in labels}) == len(places)

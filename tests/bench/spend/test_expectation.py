"""What cells are expected to cost: by the same task and arm, else the arm, else nobody knows."""

from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from row_builders import make_row

from bench.results import Reused, Row, RowFile
from bench.spend import cost, earlier_rows, expect


def rows_of(costs: dict[tuple[str, str], list[float | None]]) -> list[Row]:
    return [
        make_row(task, arm, repeat, cost=each)
        for (task, arm), values in costs.items()
        for repeat, each in enumerate(values)
    ]


def test_the_same_task_and_arm_come_first_then_the_arm_then_nothing() -> None:
    rows = rows_of({("s", "a"): [1.0, 3.0, 2.0], ("t", "a"): [10.0], ("t", "b"): [5.0]})
    found = expect([("s", "a"), ("u", "a")], rows, cost)
    assert (found.expected, found.low, found.high) == (2.0 + 2.5, 1.0 + 1.0, 3.0 + 10.0)
    assert (found.by_task, found.by_arm, found.unknown) == (1, 1, 0)


def test_one_unknown_cell_makes_the_sum_unknown() -> None:
    found = expect([("s", "a"), ("s", "new")], rows_of({("s", "a"): [1.0]}), cost)
    assert (found.expected, found.low, found.high, found.unknown) == (None, None, None, 1)
    assert found.source() == "1 cells by earlier rows of their task and arm, 1 cells unknown"


def test_rows_of_unknown_cost_not_measured_or_reused_say_nothing() -> None:
    reused = structs.replace(make_row("s", "a", cost=9.0), reuse=Reused("d" * 64, datetime.now(UTC)))
    rows = [make_row("s", "a", cost=None), make_row("s", "a", 1, kind="infra-error", cost=7.0), reused]
    assert expect([("s", "a")], rows, cost).unknown == 1


def test_a_measured_zero_is_known() -> None:
    assert expect([("s", "a")], rows_of({("s", "a"): [0.0]}), cost).expected == 0.0


@given(
    st.dictionaries(st.sampled_from("stu"), st.lists(st.floats(0, 100), min_size=1, max_size=4), min_size=1)
)
def test_the_expectation_lies_in_its_interval(costs: dict[str, list[float]]) -> None:
    rows = rows_of({(task, "a"): list(values) for task, values in costs.items()})
    found = expect([(task, "a") for task in "stu"], rows, cost)
    assert found.expected is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.expected * (1 + 1e-9)
    assert found.expected <= found.high * (1 + 1e-9)


def write_rows(root: Path, run: str, *rows: Row) -> None:
    folder = root / "runs" / run / "gen-1"
    folder.mkdir(parents=True)
    for row in rows:
        RowFile(folder / "results.jsonl").append(row)


def test_the_newest_runs_of_the_same_agent_and_model_are_read(tmp_path: Path) -> None:
    for day in range(1, 5):
        write_rows(tmp_path, f"2026010{day}T000000Z-r", make_row(f"t{day}"))
    other = make_row("other")
    write_rows(
        tmp_path,
        "20260109T000000Z-r",
        structs.replace(other, identity=structs.replace(other.identity, model="m")),
    )
    (tmp_path / "runs" / "20260108T000000Z-r").mkdir()
    (tmp_path / "runs" / "20260108T000000Z-r" / "results.jsonl").write_text("damaged\n")
    found = earlier_rows(tmp_path, agent="rulebook", model=None, effort=None, most=2)
    assert [row.identity.task for row in found] == ["t4", "t3"]

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from row_builders import make_row, score

from bench.agents import Usage
from bench.results import Report, ReportVerdict, Row, health, render_report
from bench.results.report import code, prose

ARMS = {"review": "incumbent", "candidate_review": "candidate"}
ROWS = (
    make_row("a", "review", scored=score(0.5), cost=None),
    make_row("a", "candidate_review", scored=score(0.75, false_positives=2), kind=None),
    make_row("a", "candidate_review", 1, kind="review-invalid"),
    make_row("b", "review", scored=score(clean=True), kind=None, split="holdout"),
    make_row(
        "b", "candidate_review", scored=score(0.25), split="holdout", kind="skill-not-invoked", invoked=False
    ),
)


def report(rows: tuple[Row, ...] = ROWS, **changes: Any) -> str:
    fields = {
        "title": "Generation 1",
        "rows": rows,
        "health": health(rows, ARMS),
        "provenance": {"agent": "rulebook/1", "suite": "starter"},
    }
    return render_report(Report(**(fields | changes)))


def cells(text: str, section: str, *first: str) -> list[str]:
    """The cells of the line of a section's table that begins with `first`."""
    body = text.split(f"## {section}\n", 1)[1].split("\n## ", 1)[0]
    start = "| " + " | ".join(f"`{value}`" for value in first)
    return [
        cell.strip() for line in body.splitlines() if line.startswith(start) for cell in line.split("|")[1:-1]
    ]


def test_each_task_and_arm_has_its_numbers() -> None:
    text = report()
    assert cells(text, "Tasks", "a", "train", "candidate_review")[3:] == [
        "0.750", "2.0", "1/1", "1/1 (1 excluded)", "$0.2500", "3.0", "12.5",
    ]  # fmt: skip
    assert cells(text, "Tasks", "b", "holdout", "review")[3] == "clean"


def test_an_unknown_value_is_not_zero() -> None:
    assert cells(report(), "Tasks", "a", "train", "review")[7] == "n/a"


def test_means_are_over_tasks_with_a_defect_by_split_and_in_all() -> None:
    text = report()
    assert cells(text, "Means", "candidate_review")[1:4] == ["0.250", "0.750", "0.500"]
    assert cells(text, "Means", "review")[1:4] == ["n/a", "0.500", "0.500"]


def test_the_number_over_cells_that_used_the_skill_is_marked_as_biased() -> None:
    text = report()
    assert "**Biased**" in text
    assert cells(text, "Where the skill was used", "candidate_review")[1:] == ["1/2", "0.750", "1/1"]


def worked(task: str, arm: str, repeat: int = 0, **changes: Any) -> Row:
    return make_row(task, arm, repeat, hidden_command="c" * 64, **changes)


WORK = {"no_skill": "comparator", "direct": "incumbent", "candidate_direct": "candidate"}
WORK_ROWS = (
    worked("a", "no_skill", kind="oracle-failed", cost=None, turns=10, seconds=20.0, output=0),
    worked("a", "direct", kind=None, cost=0.25, turns=8, seconds=30.0, output=50),
    worked("a", "candidate_direct", kind=None, cost=0.125, turns=5, seconds=20.0),
    worked("b", "no_skill", kind=None, cost=0.5, turns=10, output=100),
    worked("b", "direct", kind="agent-timeout", cost=0.25, turns=None, output=150),
    worked("c", "direct", kind="verify-failed", turns=1),
)


def compared(rows: tuple[Row, ...], arm: str) -> list[str]:
    return cells(report(rows, health=health(rows, WORK)), "Compared with `no_skill`", arm)[1:]


def test_savings_are_medians_over_the_tasks_that_both_arms_know() -> None:
    assert compared(WORK_ROWS, "direct") == [
        "1/3", "33.3 %", "50.0 % (1)", "20.0 % (1)", "-25.0 % (2)", "-50.0 % (1)",
    ]  # fmt: skip
    assert compared(WORK_ROWS, "candidate_direct") == [
        "1/1", "100.0 %", "n/a", "50.0 % (1)", "0.0 % (1)", "n/a",
    ]  # fmt: skip
    assert compared(WORK_ROWS, "no_skill") == ["1/2", "50.0 %", "base", "base", "base", "base"]


def test_an_arm_of_which_nothing_was_measured_has_no_rate_and_no_saving() -> None:
    rows = (*WORK_ROWS[:2], worked("a", "candidate_direct", kind="session-error"))
    assert compared(rows, "candidate_direct") == ["0/0", "n/a", "n/a", "n/a", "n/a", "n/a"]
    assert compared(rows[:2], "candidate_direct") == ["0/0", "n/a", "n/a", "n/a", "n/a", "n/a"]


def test_savings_need_an_arm_without_a_skill_and_tasks_with_a_hidden_test() -> None:
    reviews = (make_row("a", "no_skill"), make_row("a", "direct"))
    for rows in (WORK_ROWS[1:3], reviews):
        assert "Compared with" not in report(rows, health=health(rows, WORK))
    mixed = (*WORK_ROWS, make_row("z", "no_skill", cost=9.0), make_row("z", "direct", cost=1.0, kind=None))
    assert compared(mixed, "direct") == compared(WORK_ROWS, "direct")


def test_exclusions_are_counted_by_kind() -> None:
    assert cells(report(), "Health", "candidate_review")[1:] == [
        "candidate",
        "DEGRADED",
        "2/3",
        "1 review-invalid",
    ]


def test_verdict_skips_provenance_and_an_incomplete_sweep_are_said() -> None:
    text = report(
        verdict=ReportVerdict("Keep the incumbent.", ("task a: worse",)),
        skipped={"c": "expensive"},
        stopped="deadline",
        alarms=("arms a and b left the same change",),
    )
    assert "**Keep the incumbent.**\n\n* task a: worse" in text
    assert "did not complete (`deadline`)" in text
    assert "* **Alarm.** arms a and b left the same change" in text
    assert "| `c` | `expensive` |" in text
    assert "| `suite` | `starter` |" in text


def told(row: Row, measured: Usage, own: Usage | None) -> Row:
    """The row of a session of which its agent says something else."""
    return structs.replace(row, sessions={"work": measured}, reported={} if own is None else {"work": own})


def test_what_an_agent_says_otherwise_stands_beside_what_the_gateway_measured() -> None:
    measured = Usage(input=10, cache_read=4, output=7, cost_usd=0.5, source="gateway")
    own = Usage(input=10, output=5, cost_usd=0.25, source="agent")
    cut = structs.replace(measured, output=None)
    rows = (told(ROWS[0], measured, own), told(ROWS[1], measured, own), told(ROWS[3], cut, own), *ROWS[4:])
    text = report(rows)
    assert cells(text, "What agents say otherwise", "review", "output")[2:] == ["2", "n/a", "10"]
    assert cells(text, "What agents say otherwise", "review", "cost_usd")[2:] == ["2", "$1.0000", "$0.5000"]
    assert cells(text, "What agents say otherwise", "candidate_review", "output")[2:] == ["1", "7", "5"]
    for same in ("input", "cache_read"):
        assert not cells(text, "What agents say otherwise", "review", same)


def test_where_agents_say_the_same_nothing_is_said_of_it() -> None:
    assert "say otherwise" not in report((told(ROWS[0], Usage(output=7), None), *ROWS[1:]))


def test_without_anything_measured_a_report_still_reads() -> None:
    assert "| `review` | incumbent | UNKNOWN | 0/0 | none |" in report(())


@given(st.text())
def test_no_value_leaves_its_cell_its_line_or_its_code(value: str) -> None:
    shown = code(value)
    assert "|" not in shown
    assert not set(shown) & {"\n", "\r", "\x1b", "\x00"}
    fence = re.match("`+", shown).group()
    assert shown.endswith(fence)
    inner = shown[len(fence) : -len(fence)]
    assert fence not in re.findall("`+", inner)


@given(st.text(), st.sampled_from(("title", "sentence", "reason")))
def test_no_sentence_changes_the_number_of_lines_or_columns(value: str, where: str) -> None:
    text = {"title": "t", "sentence": "s", "reason": "r"} | {where: value}
    plain = report(verdict=ReportVerdict("s", ("r",)), title="t")
    shown = report(verdict=ReportVerdict(text["sentence"], (text["reason"],)), title=text["title"])
    assert len(shown.splitlines()) == len(plain.splitlines())
    assert shown.count("|") - shown.count("\\|") == plain.count("|")


@pytest.mark.parametrize(
    "hostile", ["[x](javascript:1)", "<img src=x>", "`code`", "**bold**", "# head", "a|b", "&lt;"]
)
def test_nothing_in_a_sentence_means_anything_to_markdown(hostile: str) -> None:
    assert not re.search(r"(?<!\\)[\[\]<>`*#|&]", prose(hostile))

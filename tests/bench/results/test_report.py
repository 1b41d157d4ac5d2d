import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from row_builders import make_row, score

from bench.results import Report, ReportVerdict, health, render_report
from bench.results.report import code, prose

ARMS = {"review": "incumbent", "candidate_review": "candidate"}
ROWS = (
    make_row("a", "review", scored=score(0.5), cost=None),
    make_row("a", "candidate_review", scored=score(0.75, false_positives=2), kind=None),
    make_row("a", "candidate_review", 1, kind="review-invalid"),
    make_row("b", "review", scored=score(clean=True), kind=None, split="holdout"),
    make_row("b", "candidate_review", scored=score(0.25), split="holdout", kind="skill-not-invoked", invoked=False),
)


def report(rows=ROWS, **changes):
    fields = {
        "title": "Generation 1",
        "rows": rows,
        "health": health(rows, ARMS),
        "provenance": {"agent": "rulebook/1", "suite": "starter"},
    }
    return render_report(Report(**(fields | changes)))


def cells(text, section, *first):
    """The cells of the line of a section's table that begins with `first`."""
    body = text.split(f"## {section}\n", 1)[1].split("\n## ", 1)[0]
    start = "| " + " | ".join(f"`{value}`" for value in first)
    return [cell.strip() for line in body.splitlines() if line.startswith(start) for cell in line.split("|")[1:-1]]


def test_each_task_and_arm_has_its_numbers():
    text = report()
    assert cells(text, "Tasks", "a", "train", "candidate_review")[3:] == [
        "0.750", "2.0", "1/1", "1/1 (1 excluded)", "$0.2500", "3.0", "12.5",
    ]  # fmt: skip
    assert cells(text, "Tasks", "b", "holdout", "review")[3] == "clean"


def test_an_unknown_value_is_not_zero():
    assert cells(report(), "Tasks", "a", "train", "review")[7] == "n/a"


def test_means_are_over_tasks_with_a_defect_by_split_and_in_all():
    text = report()
    assert cells(text, "Means", "candidate_review")[1:4] == ["0.250", "0.750", "0.500"]
    assert cells(text, "Means", "review")[1:4] == ["n/a", "0.500", "0.500"]


def test_the_number_over_cells_that_used_the_skill_is_marked_as_biased():
    text = report()
    assert "**Biased**" in text
    assert cells(text, "Where the skill was used", "candidate_review")[1:] == ["1/2", "0.750", "1/1"]


def test_exclusions_are_counted_by_kind():
    assert cells(report(), "Health", "candidate_review")[1:] == ["candidate", "DEGRADED", "2/3", "1 review-invalid"]


def test_verdict_skips_provenance_and_an_incomplete_sweep_are_said():
    text = report(
        verdict=ReportVerdict("Keep the incumbent.", ("task a: worse",)),
        skipped={"c": "expensive"},
        stopped="deadline",
    )
    assert "**Keep the incumbent.**\n\n* task a: worse" in text
    assert "did not complete (`deadline`)" in text
    assert "| `c` | `expensive` |" in text
    assert "| `suite` | `starter` |" in text


def test_without_anything_measured_a_report_still_reads():
    assert "| `review` | incumbent | UNKNOWN | 0/0 | none |" in report(())


@given(st.text())
def test_no_value_leaves_its_cell_its_line_or_its_code(value):
    shown = code(value)
    assert "|" not in shown
    assert not set(shown) & {"\n", "\r", "\x1b", "\x00"}
    fence = re.match("`+", shown).group()
    assert shown.endswith(fence)
    inner = shown[len(fence) : -len(fence)]
    assert fence not in re.findall("`+", inner)


@given(st.text(), st.sampled_from(("title", "sentence", "reason")))
def test_no_sentence_changes_the_number_of_lines_or_columns(value, where):
    text = {"title": "t", "sentence": "s", "reason": "r"} | {where: value}
    plain = report(verdict=ReportVerdict("s", ("r",)), title="t")
    shown = report(verdict=ReportVerdict(text["sentence"], (text["reason"],)), title=text["title"])
    assert len(shown.splitlines()) == len(plain.splitlines())
    assert shown.count("|") - shown.count("\\|") == plain.count("|")


@pytest.mark.parametrize("hostile", ["[x](javascript:1)", "<img src=x>", "`code`", "**bold**", "# head", "a|b", "&lt;"])
def test_nothing_in_a_sentence_means_anything_to_markdown(hostile):
    assert not re.search(r"(?<!\\)[\[\]<>`*#|&]", prose(hostile))

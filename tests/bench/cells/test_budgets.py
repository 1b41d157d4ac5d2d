"""Real cells under a budget: what it lets begin, what the rows and the exit code say when it is over."""

import json
from pathlib import Path

import pytest
from cell_project import CellProject

from bench.cli import main
from bench.results import Row, read_rows
from bench.spend import JOURNAL, Reserved, Settled, picodollars, read_journal, read_ledger

PAID = ["agent.options.calls_model=true", "model.id=some-model-2026", "budget.confirm=false"]
PRICED = {"input": 1, "output": 1, "source": "https://example.org", "date": "2026-11-30"}


@pytest.fixture
def tasks(project: CellProject) -> CellProject:
    """Six tasks at which an agent works in vain for 25 cents each, with a known price."""
    project.tree({"a.txt": "first\n"})
    for number in range(6):
        project.task(f"t{number}", 'cmp a.txt "$ORACLE/expected"')
    project.arm("one")
    reports("cost_usd=0.25, output_tokens=10, input_tokens=0", project)
    price = {"schema": "prices/1", "version": "test", "currency": "USD per million tokens"}
    project.write("conf/prices/test.json", json.dumps({**price, "models": {"some-model-2026": PRICED}}))
    return project


def reports(usage: str, project: CellProject, then: str = "") -> None:
    project.agent(f"say(type='usage', {usage})\n{then}")


def bench(project: CellProject, *overrides: str) -> int:
    return main([*project.overrides(*overrides), "--root", str(project.root), "--json", "--quiet"])


def folder_of(project: CellProject) -> Path:
    return max((project.root / "runs").glob("2*"))


def rows_of(project: CellProject) -> tuple[Row, ...]:
    return read_rows(folder_of(project) / "results.jsonl")[0]


def kinds(project: CellProject) -> list[str | None]:
    return [
        row.outcome.kind if row.outcome.status == "stopped" else row.outcome.status
        for row in rows_of(project)
    ]


def test_a_budget_that_runs_out_stops_new_cells_and_nothing_passes_it(tasks: CellProject) -> None:
    assert bench(tasks, *PAID, "budget.usd=1", "budget.cell.usd=0.3", "workers=2") == 3
    ran = ["measured", "measured", "measured"]
    assert kinds(tasks) == [*ran, *["budget-exhausted"] * 3]
    detail = rows_of(tasks)[-1].outcome.detail
    assert detail == "budget.usd is $1.00: with $0.75 used, a session of up to $0.30 does not fit"
    assert read_ledger(folder_of(tasks) / JOURNAL).settled.picodollars == picodollars(0.75)
    report = (folder_of(tasks) / "report.md").read_text()
    assert "## Spend" in report
    assert "| `one` | 3 | " in report
    assert "* budget.usd: $0.75 of $1.00 used" in report
    assert "The sweep did not complete (`budget-exhausted`)" in report


def test_a_reservation_is_written_before_its_session_and_settled_after_it(tasks: CellProject) -> None:
    assert bench(tasks, *PAID, "tasks.id=t0", "budget.usd=1", "budget.cell.usd=0.3") == 0
    _, reserved, settled = read_journal(folder_of(tasks) / JOURNAL)
    assert isinstance(reserved, Reserved)
    assert isinstance(settled, Settled)
    assert (reserved.amounts.picodollars, settled.amounts.picodollars) == (
        picodollars(0.3),
        picodollars(0.25),
    )
    assert (settled.basis, settled.over, settled.amounts.sessions, settled.amounts.cells) == (
        "agent",
        (),
        1,
        1,
    )


def test_a_report_above_the_reservation_stops_the_run_and_keeps_the_row(tasks: CellProject) -> None:
    assert bench(tasks, *PAID, "budget.usd=5", "budget.cell.usd=0.2") == 3
    assert kinds(tasks) == ["measured", *["budget-exhausted"] * 5]
    assert "reports $0.25 where $0.20 were reserved" in rows_of(tasks)[-1].outcome.detail
    assert "1 over the reservation" in (folder_of(tasks) / "report.md").read_text()


def test_a_providers_429_is_a_broken_session_and_not_the_end_of_the_budget(tasks: CellProject) -> None:
    tasks.agent("say(type='result', status='error', message='429 rate limited: quota exceeded'); sys.exit(1)")
    assert bench(tasks, *PAID, "budget.usd=5", "budget.cell.usd=0.3", "breaker=0", "tasks.id='t[01]'") == 1
    assert [row.outcome.kind for row in rows_of(tasks)] == ["session-error"] * 2
    ledger = read_ledger(folder_of(tasks) / JOURNAL)
    assert ledger.settled.picodollars == picodollars(0.6), "what it cost is unknown: it counts at its ceiling"


def test_a_cell_of_several_sessions_shares_its_ceiling(tasks: CellProject) -> None:
    first, second = ({"kind": "work", "order": order} for order in (1, 2))
    tasks.arm("one", {"first": first, "second": second})
    assert bench(tasks, *PAID, "tasks.id=t0", "budget.usd=5", "budget.cell.usd=0.5") == 0
    _, reserved, _, again, _ = read_journal(folder_of(tasks) / JOURNAL)
    assert isinstance(reserved, Reserved)
    assert isinstance(again, Reserved)
    assert [each.amounts.picodollars for each in (reserved, again)] == [picodollars(0.5), picodollars(0.25)]
    assert bench(tasks, *PAID, "tasks.id=t0", "budget.usd=5", "budget.cell.usd=0.25") == 0
    assert (
        rows_of(tasks)[0].outcome.detail
        == "session second of t0/one/0: its cell has used all that budget.cell allows"
    )
    assert kinds(tasks) == ["budget-exhausted"]


@pytest.mark.parametrize(("cap", "measured"), [("budget.sessions=2", 2), ("budget.sessions=6", 6)])
def test_an_agent_that_calls_no_model_is_counted_in_sessions(
    cap: str, measured: int, tasks: CellProject
) -> None:
    tasks.agent("")
    assert bench(tasks, cap) == (0 if measured == 6 else 3)
    assert kinds(tasks).count("measured") == measured
    report = (folder_of(tasks) / "report.md").read_text()
    assert "its sessions cost nothing" in report


def test_tokens_are_limited_like_money(tasks: CellProject) -> None:
    reports("input_tokens=5, output_tokens=5, cache_read_tokens=0, cache_write_tokens=0", tasks)
    assert bench(tasks, *PAID, "budget.tokens=35", "budget.cell.tokens=15") == 3
    assert kinds(tasks).count("measured") == 3


def test_a_model_without_a_price_is_refused_or_counted_as_declared(
    tasks: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    unknown = [*PAID, "model.id=nobody-knows-1"]
    assert bench(tasks, *unknown, "budget.usd=1", "budget.cell.usd=0.3") == 2
    assert "no price is known for 'nobody-knows-1', and unknown is not zero" in capsys.readouterr().err
    reports("output_tokens=10", tasks)
    assert bench(tasks, *unknown, "budget.usd=1", "budget.unpriced=0.3") == 3
    assert kinds(tasks).count("measured") == 3
    assert "3 counted as budget.unpriced says" in (folder_of(tasks) / "report.md").read_text()


def test_a_campaign_that_is_spent_is_refused_with_exit_3_before_a_run_begins(
    tasks: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = [*PAID, "reuse=none", "campaign=spring", "budget.campaign.usd=0.75", "budget.cell.usd=0.25"]
    assert bench(tasks, *shared, "tasks.id='t[01]'") == 0
    assert bench(tasks, *shared) == 3
    assert kinds(tasks).count("measured") == 1
    runs = sorted((tasks.root / "runs").glob("2*"))
    capsys.readouterr()
    assert bench(tasks, *shared) == 3
    said = capsys.readouterr().err
    assert "the campaign 'spring' has spent its budget.campaign.usd: $0.75 of $0.75, by" in said
    assert all(f"{run.name}: $0." in said for run in runs)
    assert sorted((tasks.root / "runs").glob("2*")) == runs


def test_a_session_is_cut_off_at_the_end_of_its_run_and_that_is_no_failure_of_the_agent(
    tasks: CellProject,
) -> None:
    tasks.agent("import time; time.sleep(600)")
    assert bench(tasks, "budget.wall=4", "timeout=600") == 3
    assert {row.outcome.kind for row in rows_of(tasks)} == {"deadline"}


def test_a_session_that_could_not_finish_is_not_started(tasks: CellProject) -> None:
    assert bench(tasks, *PAID, "budget.wall=25") == 3
    assert kinds(tasks) == ["deadline"] * 6
    assert rows_of(tasks)[0].sessions == {}
    assert "could not finish before the run must end" in rows_of(tasks)[0].outcome.detail


def test_a_run_that_may_cost_money_needs_somebody_to_ask(
    tasks: CellProject, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open("/dev/null") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert bench(tasks, *PAID[:2]) == 2
    said = capsys.readouterr().err
    assert "there is no terminal to ask at; cost: unknown: no earlier rows to estimate from" in said
    assert "set budget.confirm=false" in said
    assert not (tasks.root / "runs").exists() or not list((tasks.root / "runs").glob("2*"))


def test_what_runs_cost_is_expected_of_the_next_one(
    tasks: CellProject, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench(tasks, *PAID, "tasks.id='t[0-4]'") == 0  # a cell that it may reuse costs nothing
    capsys.readouterr()
    with open("/dev/null") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert bench(tasks, *PAID[:2], "reuse=none", "budget.usd=9", "budget.cell.usd=2") == 2
    said = capsys.readouterr().err
    assert "$1.50 a generation, from $1.50 to $1.50" in said
    assert (
        "5 cells by earlier rows of their task and arm, 1 cells by those of their arm on other tasks" in said
    )
    assert "at most $9.00 for the run" in said

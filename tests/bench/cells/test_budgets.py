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
    """The newest run's: the names of two runs of one second say nothing of their order."""
    return max((project.root / "runs").glob("2*"), key=lambda run: (run / "config.json").stat().st_mtime_ns)


def rows_of(project: CellProject) -> tuple[Row, ...]:
    return read_rows(folder_of(project) / "results.jsonl")[0]


def kinds(project: CellProject) -> list[str | None]:
    return [
        row.outcome.kind if row.outcome.status == "stopped" else row.outcome.status
        for row in rows_of(project)
    ]


def test_a_budget_that_runs_out_stops_new_cells_and_nothing_passes_it(tasks: CellProject) -> None:
    assert bench(tasks, *PAID, "budget.usd=1", "budget.cell.usd=0.3", "workers=2") == 3
    assert kinds(tasks) == ["measured", "measured", "measured"]
    assert read_ledger(folder_of(tasks) / JOURNAL).settled.picodollars == picodollars(0.75)
    report = (folder_of(tasks) / "report.md").read_text()
    assert "## Spend" in report
    assert "| `one` | 3 | " in report
    assert "* budget.usd: $0.75 of $1.00 used" in report
    assert "The sweep did not complete (`budget-exhausted`)" in report
    assert "3 cells not begun: budget.usd is $1.00: with $0.75 used, a session of up to" in report


def test_cells_that_never_began_have_no_row_and_one_line_counts_them(
    tasks: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(tasks, *PAID, "budget.usd=1", "budget.cell.usd=0.3") == 3
    said = capsys.readouterr()
    told = [line for line in said.err.splitlines() if "begun" in line or "budget-exhausted" in line]
    assert told == [
        (
            "stopped by budget-exhausted: 3 of 6 cells have rows; 3 cells not begun: "
            "budget.usd is $1.00: with $0.75 used, a session of up to $0.30 does not fit"
        )
    ]
    summary = json.loads(said.out)
    assert (summary["cells"], summary["rows"], summary["stopped"]) == (6, 3, "budget-exhausted")


def test_cells_that_never_began_are_measured_when_the_run_goes_on(tasks: CellProject) -> None:
    price = tasks.root / "conf/prices/test.json"
    assert bench(tasks, *PAID, "budget.usd=1", "budget.cell.usd=0.3") == 3
    run = folder_of(tasks)
    journal = (run / JOURNAL).read_text().splitlines()
    assert price.exists()
    # what the three sessions cost is corrected, as if a provider had taken money back
    (run / JOURNAL).write_text("".join(line.replace("250000000000", "1") + "\n" for line in journal))
    assert main(["resume", str(run), "--quiet", "--json"]) == 0
    assert kinds(tasks) == ["measured"] * 6


def test_a_run_whose_rest_cannot_finish_is_not_gone_on_with(
    tasks: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = [*PAID, "reuse=none", "campaign=spring", "budget.campaign.sessions=9"]
    reports("cost_usd=0.25, output_tokens=10, input_tokens=0", tasks, "raise SystemExit(1)")
    assert bench(tasks, *shared, "breaker=2", "retries=0", "workers=1") == 1
    run = folder_of(tasks)
    begun = len(rows_of(tasks))
    assert begun < 6
    reports("cost_usd=0.25, output_tokens=10, input_tokens=0", tasks)
    assert bench(tasks, *shared, "tasks.id='t[0-4]'") == 0
    reports("cost_usd=0.25, output_tokens=10, input_tokens=0", tasks, "raise SystemExit(1)")
    capsys.readouterr()
    before = (run / JOURNAL).read_bytes()
    assert main(["resume", str(run), "--quiet"]) == 3
    said = capsys.readouterr().err
    assert f"the plan needs at least {6 - begun} sessions: more than the 9 sessions that" in said
    assert (run / JOURNAL).read_bytes() == before


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
    assert kinds(tasks) == ["measured"]
    report = (folder_of(tasks) / "report.md").read_text()
    assert "5 cells not begun: session work of t0/one/0 reports $0.25" in report.replace("\\", "")
    assert "1 over the reservation" in report


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["budget.sessions=5"], "at least 6 sessions: more than the 5 sessions that budget.sessions allows"),
        (["budget.cells=5"], "at least 6 cells: more than the 5 cells that budget.cells allows"),
        (
            [*PAID, "model.id=nobody-knows-1", "budget.usd=1", "budget.unpriced=0.2"],
            "at least $1.20: more than the $1.00 that budget.usd allows",
        ),
        (
            ["campaign=spring", "budget.campaign.sessions=5"],
            "more than the 5 sessions that budget.campaign.sessions allows",
        ),
        (
            ["agent.options.calls_model=true", "model.id=m", "budget.confirm=false", "budget.wall=25"],
            "less than 30",
        ),
    ],
)
def test_what_cannot_finish_is_refused_before_a_run_begins(
    words: list[str], said: str, tasks: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(tasks, *words) == 3
    error = capsys.readouterr().err
    assert said in error
    assert "raise" in error
    assert not list((tasks.root / "runs").glob("2*"))


def test_what_finishes_only_with_luck_is_started(tasks: CellProject) -> None:
    tasks.arm("one", {name: {"kind": "work", "order": order} for order, name in enumerate("ab", 1)})
    tasks.agent("say(type='result', status='gave_up', message='no'); sys.exit(0)")
    assert bench(tasks, "budget.sessions=6") == 0
    assert kinds(tasks) == ["measured"] * 6, "each cell may need two sessions, and none did"


def test_an_agent_that_calls_no_model_is_counted_in_sessions(tasks: CellProject) -> None:
    tasks.agent("")
    assert bench(tasks, "budget.sessions=6") == 0
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
    assert bench(tasks, *unknown, "budget.usd=2", "budget.unpriced=0.3") == 0
    assert "6 counted as budget.unpriced says" in (folder_of(tasks) / "report.md").read_text()


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
    tasks.agent("import time; time.sleep(3)")
    assert bench(tasks, "budget.wall=10", "timeout=600") == 3
    assert "measured" in kinds(tasks), "the first one had the time"
    assert set(kinds(tasks)) <= {"measured", "deadline"}
    assert len(kinds(tasks)) < 6
    assert all(row.sessions for row in rows_of(tasks))


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


def test_a_run_does_not_go_on_with_other_prices_than_it_was_counted_by(
    tasks: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    priced = {"input": 1, "output": 1, "source": "https://example.org", "date": "2026-12-01"}
    table = tasks.root / "conf" / "prices" / "ours.json"

    def prices(output: int) -> None:
        models = {"ours-1": {**priced, "output": output}}
        table.parent.mkdir(parents=True, exist_ok=True)
        table.write_text(
            json.dumps(
                {"schema": "prices/1", "version": "v", "currency": "USD per million tokens", "models": models}
            )
        )

    prices(1)
    reports("output_tokens=10", tasks)
    assert bench(tasks, *PAID, "model.id=ours-1", "tasks.id=t0") == 0
    run = folder_of(tasks)
    results = run / "results.jsonl"
    (run / "report.md").unlink()
    results.write_bytes(b"")
    prices(2)
    capsys.readouterr()
    assert main(["resume", run.name, "--root", str(tasks.root)]) == 2
    assert "was counted by the prices" in capsys.readouterr().err
    prices(1)
    assert main(["resume", run.name, "--root", str(tasks.root)]) == 0


@pytest.mark.parametrize("lost", [("spend.jsonl",), ("spend.jsonl", "results.jsonl")])
def test_a_run_that_lost_what_it_knew_of_its_spending_does_not_go_on(
    tasks: CellProject, capsys: pytest.CaptureFixture[str], lost: tuple[str, ...]
) -> None:
    assert bench(tasks, *PAID, "budget.usd=2", "budget.cell.usd=0.3", "tasks.id='t[0-2]'") == 0
    run = folder_of(tasks)
    (run / "results.jsonl").write_bytes(b"")
    for name in lost:
        (run / name).unlink()
    capsys.readouterr()
    assert main(["resume", run.name, "--root", str(tasks.root)]) == 2
    assert "it was cut or removed" in capsys.readouterr().err


def test_a_run_that_lost_how_long_it_worked_does_not_go_on_under_a_limit_of_time(
    tasks: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(tasks, "budget.wall=300", "tasks.id=t0") == 0
    run = folder_of(tasks)
    (run / "worked.jsonl").write_bytes(b"")
    capsys.readouterr()
    assert main(["resume", run.name, "--root", str(tasks.root)]) == 2
    assert "nobody can tell how long the run was at work" in capsys.readouterr().err

"""Implementation arms on the starter: right by construction, and nothing that is solved before it begins."""

from pathlib import Path

from bench.results import read_rows
from tests.e2e.commands import run, starter_root

TASKS = "tasks.id='fix-[bc]*'"


def test_bench_reports_the_implementation_arms_as_they_are_by_construction(project: Path) -> None:
    done = run("bench", "--json", "suite=starter", "arms=implementation", TASKS, folder=project, timeout=300)
    assert done.code == 0, done.err
    rows, _ = read_rows(Path(done.json["folder"]) / "results.jsonl")
    resolved = {(row.identity.task, row.identity.arm): row.outcome.resolved for row in rows}
    assert resolved == {
        ("fix-basket-total", "no_skill"): True,
        ("fix-basket-total", "no_tools"): False,
        ("fix-basket-total", "direct"): True,
        ("fix-basket-total", "plan_work"): True,
        ("fix-count-sheets", "no_skill"): False,
        ("fix-count-sheets", "no_tools"): True,
        ("fix-count-sheets", "direct"): True,
        ("fix-count-sheets", "plan_work"): True,
    }
    report = Path(done.json["report"]).read_text()
    assert "no_skill" in report
    assert "turns" in report


def test_a_task_whose_untouched_base_passes_is_refused_by_both_commands_before_anything_is_measured(
    project: Path,
) -> None:
    root = starter_root(project)
    suite = root / "suites" / "starter" / "suite.yaml"
    lines = suite.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if "id: fix-basket-total" in line)
    command = next(number for number in range(at, len(lines)) if "command:" in lines[number])
    lines[command] = "      command: cat\n"  # says the token whatever it is asked about
    suite.write_text("".join(lines))
    for program in ("bench", "evolve"):
        more = [] if program == "bench" else ["promotion=threshold_cost", "promotion.options.metric=turns"]
        done = run(program, "arms=implementation", TASKS, *more, folder=project)
        assert done.code == 2
        assert "already passes where nothing was done yet: fix-basket-total" in done.err
    assert not list((root / "runs").glob("2*"))

"""An agent that declares itself deterministic and is not stays refuted, also where a run goes on."""

from pathlib import Path

import pytest
from cell_project import CellProject

from bench.cli import main
from bench.project import list_runs
from bench.results import read_rows


def test_a_refuted_cell_is_not_rolled_again_when_the_run_goes_on(
    project: CellProject, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    count = tmp_path / "count"
    project.tree({"a.txt": "a\n"})
    project.task("one", "test -e new")
    project.arm("plain")
    project.agent(
        f"open({str(count)!r}, 'a').write('x'); open('new', 'w').write(open({str(count)!r}).read())"
    )
    words = project.overrides(
        "sandbox=host", "sandbox.accept_no_containment=true", "agent.options.deterministic=true", "retries=2"
    )
    root = ["--root", str(project.root)]
    assert main([*words, *root]) == 1
    run = list_runs(project.root)[-1]
    rows, _ = read_rows(run.path / "results.jsonl")
    assert [(row.outcome.status, row.outcome.kind) for row in rows] == [("unusable", "answers-differ")]
    assert count.read_text() == "xx"
    assert main(["resume", run.id, *root]) == 1
    assert read_rows(run.path / "results.jsonl")[0] == rows
    assert count.read_text() == "xx", "nobody worked"
    capsys.readouterr()

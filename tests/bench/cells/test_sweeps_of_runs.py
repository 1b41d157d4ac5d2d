"""`bench -m`: a run for each point, one plan, one table; what is there already is not measured again."""

import json
from typing import Any

import pytest
from cell_project import CellProject

from bench.cli import main
from bench.project import list_runs


@pytest.fixture
def swept(project: CellProject) -> CellProject:
    project.tree({"a.txt": "a\n"})
    project.task("t0", "test -e new")
    project.arm("one")
    project.agent("open('new', 'w').write('x')")
    return project


def many(project: CellProject, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["-m", *project.overrides(*words), "--root", str(project.root)])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_each_point_is_a_run_and_a_sweep_that_is_done_is_not_measured_again(
    swept: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = many(swept, capsys, "seed=1,2")
    assert code == 0, err
    assert len(list_runs(swept.root)) == 2
    (sweep,) = (swept.root / "runs" / "sweeps").glob("sweep-*")
    result: Any = json.loads((sweep / "sweep.json").read_bytes())
    assert len(result["points"]) == 2
    assert str(sweep) in out + err
    assert main(["resume", sweep.name, "--root", str(swept.root)]) == 0
    assert len(list_runs(swept.root)) == 2


def test_an_axis_that_is_given_twice_is_refused_before_anything_is_measured(
    swept: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = many(swept, capsys, "seed=1,2", "seed=3,4")
    assert (code, list_runs(swept.root)) == (2, ())
    assert "seed" in err

"""`evolve -m`: a generation for each point, one joint verdict, all of it in one process."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.project import list_runs
from evolve.cli import main
from tests.chaos.chaos_project import ChaosProject


@pytest.fixture
def swept(tmp_path: Path) -> ChaosProject:
    return ChaosProject(tmp_path, "host", kinds=("work",))


def test_points_share_what_was_measured_and_end_in_one_verdict(
    swept: ChaosProject, capsys: pytest.CaptureFixture[str]
) -> None:
    root = ["--root", str(swept.root)]
    words = [*swept.words, "retries=0", "breaker=4,5", *root]
    assert main(["plan", "-m", *words]) == 0
    assert "2 points" in capsys.readouterr().out
    assert main(["-m", *words]) == 0
    (sweep,) = (swept.root / "runs" / "sweeps").glob("sweep-*")
    result: Any = json.loads((sweep / "sweep.json").read_bytes())
    assert [point["decision"] for point in result["points"]] == ["promote", "promote"]
    runs = list_runs(swept.root)
    assert len(runs) == 2
    assert main(["resume", sweep.name, *root]) == 0
    capsys.readouterr()
    assert main(["reuse", "explain", runs[-1].id, *root, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {cell["kind"] for cell in told["cells"]} >= {"reused"}

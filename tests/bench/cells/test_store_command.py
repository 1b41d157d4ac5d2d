"""`bench store` in a project: what it says of a store that is whole, damaged, full of waste, or sent elsewhere."""

import json
from pathlib import Path
from typing import Any

import pytest
from cell_project import CellProject

from bench.cli import main
from bench.exits import ExitCode

Output = pytest.CaptureFixture[str]


@pytest.fixture
def measured(project: CellProject) -> CellProject:
    """A project with one run."""
    project.tree({"a.txt": "first\n"})
    project.task("t", "grep -q never a.txt")
    project.arm("one")
    project.agent("sh('echo said')")
    assert main([*project.overrides(), "--root", str(project.root), "--quiet", "--json"]) == 0
    return project


def store(capsys: Output, root: Path, *words: str, code: int = 0) -> Any:
    capsys.readouterr()
    assert main(["store", *words, "--root", str(root), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def objects(root: Path) -> list[Path]:
    return sorted(path for path in (root / "runs" / "objects").glob("??/*") if path.is_file())


def test_a_whole_store_is_said_to_be_whole(measured: CellProject, capsys: Output) -> None:
    found = store(capsys, measured.root, "verify")
    assert found["objects"] == len(objects(measured.root)) > 0


def test_a_changed_object_is_named_with_exit_4(measured: CellProject, capsys: Output) -> None:
    path = objects(measured.root)[0]
    path.chmod(0o600)
    path.write_bytes(b"other")
    assert main(["store", "verify", "--root", str(measured.root)]) == ExitCode.CHECK
    assert f"{path.parent.name}{path.name}"[:12] in capsys.readouterr().out


def test_waste_is_collected_and_what_rows_name_stays(measured: CellProject, capsys: Output) -> None:
    kept = objects(measured.root)
    waste = measured.root / "runs" / "objects" / "ab" / ("c" * 62)
    waste.parent.mkdir(exist_ok=True)
    waste.write_bytes(b"nobody's")
    store(capsys, measured.root, "gc", "--dry-run")
    assert waste.exists()
    store(capsys, measured.root, "gc")
    assert objects(measured.root) == kept


def test_an_exported_run_is_whole_elsewhere(measured: CellProject, capsys: Output, tmp_path: Path) -> None:
    (run,) = (path.parent.name for path in measured.root.glob("runs/*/config.json"))
    archive, other = tmp_path / "run.tar.zst", tmp_path / "other"
    other.mkdir()
    (other / "evolve.toml").touch()
    store(capsys, measured.root, "export", run, "--to", str(archive))
    store(capsys, other, "import", str(archive))
    assert store(capsys, other, "verify")["objects"] == len(objects(measured.root))


@pytest.mark.parametrize("words", [["export"], ["import", "nowhere"], ["verify", "too", "many"]])
def test_words_that_do_not_fit_are_refused(measured: CellProject, capsys: Output, words: list[str]) -> None:
    assert main(["store", *words, "--root", str(measured.root)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert "Traceback" not in said

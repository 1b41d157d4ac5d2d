"""Runs as a stranger meets them: one in progress seen from elsewhere, one that was killed, one that moves."""

import os
import re
import signal
import subprocess
from pathlib import Path

from tests.e2e.commands import run, start, starter_root

ONE_TASK = ('tasks.id="review-b*"', "promotion=threshold_review")


def line_with(process: "subprocess.Popen[str]", text: str) -> str:
    assert process.stderr is not None
    return next(line for line in process.stderr if text in line)


def run_id(line: str) -> str:
    found = re.search(r"^run (\S+)", line)
    assert found
    return found[1]


def test_a_run_in_progress_is_followed_from_elsewhere_and_keeps_its_store(project: Path) -> None:
    with start("evolve", folder=project) as evolving:
        name = run_id(line_with(evolving, "run "))
        line_with(evolving, "[1/66]")
        shown = run("evolve", "runs", "show", name, "--json", folder=project).json
        assert (shown["state"], shown["holder"]["pid"]) == ("running", evolving.pid)
        refused = run("bench", "store", "gc", folder=project)
        assert (refused.code, f"process {evolving.pid}" in refused.err) == (2, True)
        assert run("evolve", "runs", "prune", "--keep", "0", folder=project).out.startswith(
            f"kept {name}: it is in p"
        )
        with start("evolve", "runs", "show", name, "--follow", folder=project) as following:
            assert evolving.stderr is not None
            evolving.stderr.read()
            out, _ = following.communicate(timeout=60)
    cells = [line for line in out.splitlines() if line.startswith("gen-1 [")]
    assert [line.split("]")[0] for line in cells] == [f"gen-1 [{number}/66" for number in range(1, 67)]
    assert "decision: promote" in out


def test_a_run_that_was_killed_is_interrupted_with_what_is_left_and_harms_no_store(project: Path) -> None:
    with start("evolve", folder=project) as evolving:
        name = run_id(line_with(evolving, "run "))
        line_with(evolving, "[3/66]")
        os.kill(evolving.pid, signal.SIGKILL)
    shown = run("evolve", "runs", "show", name, "--json", folder=project).json
    assert shown["state"] == "interrupted"
    assert re.fullmatch(r"\d+ of 66 cells left of generation 1", shown["why"])
    assert run("bench", "store", "verify", folder=project).code == 0
    assert run("evolve", "runs", "prune", "--keep", "0", folder=project).code == 0
    assert run("bench", "store", "gc", folder=project).code == 0
    assert run("bench", "store", "verify", "--json", folder=project).json["objects"] == 0


def test_a_run_is_exported_imported_looked_into_and_applied_elsewhere(project: Path, tmp_path: Path) -> None:
    assert run("evolve", *ONE_TASK, folder=project).code == 0
    name = run("evolve", "runs", "list", "--json", folder=project).json["runs"][0]["run"]
    archive = tmp_path / "run.tar.gz"
    assert run("bench", "store", "export", name, "--to", str(archive), folder=project).code == 0
    other = tmp_path / "other"
    other.mkdir()
    assert run("evolve", "--cfg", "job", folder=other).code == 0
    assert run("bench", "store", "import", str(archive), folder=other).code == 0
    assert run("bench", "store", "verify", folder=other).code == 0
    cell = ("--cell", "review-backup-command/review/0", "--command", "true")
    assert run("bench", "debug", name, *cell, folder=other).code == 0
    assert run("evolve", "apply", name, folder=other).code == 0
    files = [
        root / ".claude/skills/code-review/SKILL.md" for root in (starter_root(other), starter_root(project))
    ]
    assert files[0].read_bytes() != files[1].read_bytes()


def test_a_store_that_lost_an_artifact_says_no(project: Path) -> None:
    assert run("evolve", *ONE_TASK, folder=project).code == 0
    victim = next((starter_root(project) / "runs" / "objects").glob("??/*"))
    victim.unlink()
    verified = run("bench", "store", "verify", folder=project)
    assert verified.code == 4
    assert f"{victim.parent.name}{victim.name}: missing" in verified.out

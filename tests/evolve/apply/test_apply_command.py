"""The command `evolve apply`: what it prints, how it exits, and what the next `evolve` makes of it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest
from apply_builders import NOW, RUN, Asked, Made, change_of, make_project, make_run, promote, temporaries

import evolve.cli
from bench.project import unpack_starter
from evolve.apply import apply_schemas, exchange_entries

RECENT = datetime.now(UTC)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    made = make_project(tmp_path / "project")
    promote(made, generated_at=RECENT)
    monkeypatch.chdir(made.root)
    return made


def command(*words: str) -> int:
    return evolve.cli.main(["apply", *words])


def test_an_apply_says_what_changed_and_what_to_type_next(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(RUN) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "Nothing was committed" in said.out
    assert re.search(r"cursor/skills/code-review/SKILL.md +\+1 -1", said.out)
    (next_command,) = re.findall(r"^next: (.*)$", said.out, re.MULTILINE)
    shown = subprocess.run(next_command, shell=True, capture_output=True, text=True, check=True).stdout
    assert shown.count("+Look three times.") == 3
    (undo,) = re.findall(r"^undo: evolve apply (.*)$", said.out, re.MULTILINE)
    assert command(*undo.split()) == 0
    assert "Reverted" in capsys.readouterr().out
    assert b"Look twice." in made.path().read_bytes()


def test_a_second_apply_is_no_failure(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(RUN) == command(RUN) == 0
    assert "already applied" in capsys.readouterr().out.splitlines()[-1]


def test_a_dry_run_prints_a_diff_alone_on_stdout(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(RUN, "--dry-run") == 0
    said = capsys.readouterr()
    assert said.out.startswith("--- a/.claude/skills/code-review/SKILL.md\n")
    assert "Nothing was changed" in said.err
    subprocess.run(("git", "apply"), input=said.out, text=True, check=True)
    assert b"Look three times." in made.path().read_bytes()


def test_nothing_in_a_skill_can_drive_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_project(tmp_path / "hostile")
    promote(made, change_of(body="\x1b[2Jgone"), generated_at=RECENT)
    assert command(RUN, "--dry-run", "--root", str(made.root)) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("words", [(), ("--dry-run",), ("--revert",), ("--revert", "--dry-run")])
def test_json_fits_its_schema(made: Made, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    if "--revert" in words:
        assert command(RUN, "--quiet") == 0
        capsys.readouterr()
    assert command(RUN, "--json", *words) == 0
    summary = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(apply_schemas()["apply-summary"]).validate(summary)
    assert (summary["diff"] is not None) == ("--dry-run" in words)
    assert len(summary["files"]) == 3


def test_a_refusal_is_one_block_and_exit_2(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    made.path(place="cursor/skills").write_bytes(b"drifted\n")
    assert command(RUN) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"error: run {RUN} cannot be applied to the working tree")
    assert "Traceback" not in said.err


@pytest.mark.parametrize("words", [("--cfg", "job"), ("--info", "defaults-tree"), ("--config-dir", "conf")])
def test_a_flag_that_means_nothing_here_is_refused(
    made: Made, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(RUN, *words) == 2
    assert "a run keeps its own configuration" in capsys.readouterr().err


def test_outside_a_project_no_project_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(RUN) == 2
    assert "no project here" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_takes_everything_back_says_so_and_exits_130(
    made: Made, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted_exchange(folder: int, first: str, second: str) -> None:
        exchange_entries(folder, first, second)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("evolve.apply.run.exchange_entries", interrupted_exchange)
    assert command(RUN) == 130
    assert "nothing was changed" in capsys.readouterr().err
    assert b"Look twice." in made.path().read_bytes()
    assert temporaries(made.root) == []


def test_an_old_promotion_is_refused_by_the_clock_of_the_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_project(tmp_path / "old")
    make_run(made, Asked(files=change_of(), generated_at=NOW.replace(year=2020)))
    assert command(RUN, "--root", str(made.root)) == 2
    assert "expired" in capsys.readouterr().err


def real(project: Path, *words: str) -> str:
    """A real command in a project; fails with what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys, evolve.cli; sys.exit(evolve.cli.main())", *words],
        cwd=project,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


MEASURED = (
    "--quiet",
    "promotion=threshold_review",
    "tasks.id=review-webhook-outbox",
    "++skills.code-review.mirrors=[agents/skills]",
)


def test_a_measured_promotion_is_offered_applied_built_upon_and_after_a_revert_offered_again(
    tmp_path: Path,
) -> None:
    project = unpack_starter(tmp_path)
    skill, mirror = (
        project / place / "code-review" / "SKILL.md" for place in (".claude/skills", "agents/skills")
    )
    shutil.copytree(skill.parent, mirror.parent)
    before = skill.read_bytes()

    first = real(project, *MEASURED)
    (run,) = re.findall(r"^next: .*: evolve apply (\S+)$", first, re.MULTILINE)
    offered = real(project, *MEASURED)
    assert f"take it over:   evolve apply {run} " in offered
    assert f"see the diff:   evolve apply {run} --dry-run" in offered

    assert "Applied" in real(project, "apply", run)
    assert skill.read_bytes() == mirror.read_bytes() != before
    git = subprocess.run(
        ("git", "status", "--porcelain"), cwd=project, capture_output=True, text=True, check=True
    )
    assert git.stdout == " M .claude/skills/code-review/SKILL.md\n?? agents/\n"

    second = real(project, *MEASURED)
    ideas = [re.findall(r"^generation 1, idea '(.*)'$", said, re.MULTILINE) for said in (first, second)]
    assert ideas[0] != ideas[1] != []

    assert "Reverted" in real(project, "apply", run, "--revert")
    assert skill.read_bytes() == mirror.read_bytes() == before
    assert f"evolve apply {run}" in real(project, *MEASURED)

"""What a person who looks into a cell sees, and that nothing of what they do there counts."""

import json

import pytest
from cell_project import CellProject

from bench.cli import main

REPAIR = "sed -i 's/first/second/' a.txt"


@pytest.fixture
def work(project: CellProject) -> CellProject:
    """A project with a task that is solved by one edit, with everything that a session can have."""
    project.tree({"a.txt": "first\n"})
    project.write("suites/mine/oracles/expected", "second\n")
    project.write("tools/notes/n.txt", "a note\n")
    project.task(
        "t",
        'cmp a.txt "$ORACLE/expected"',
        environment={"python": True},
        derived=[{"name": "index", "command": "cp a.txt /output/", "target": "/opt/index"}],
    )
    project.arm(
        "one",
        tools={
            "notes": {"kind": "folder", "source": "tools/notes", "target": "/opt/tools/notes"},
            "index": {"kind": "derived", "asset": "index"},
        },
    )
    return project


def look(
    project: CellProject, capsys: pytest.CaptureFixture[str], command: str
) -> tuple[str, dict[str, object]]:
    """What a command printed in the only cell of a finished run, and the outcome of the cell's new row."""
    root = ["--root", str(project.root)]
    assert main([*project.overrides(), *root, "--json"]) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert main(["debug", run, "--cell", "t/one/0", "--command", command, *root, "--json", "--quiet"]) == 0
    said = capsys.readouterr()
    return said.err, json.loads(said.out)["outcome"]


def test_it_is_the_place_where_the_sessions_worked(
    work: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    work.agent("sh('echo left > new; echo home > ~/h; echo out > /output/o')")
    command = "cat new ~/h /output/o /opt/tools/notes/n.txt /opt/index/a.txt; command -v python3"
    said, _ = look(work, capsys, command)
    assert said == "left\nhome\nout\na note\nfirst\n/opt/venv/bin/python3\n"


def test_no_oracle_is_there(work: CellProject, capsys: pytest.CaptureFixture[str]) -> None:
    said, outcome = look(
        work,
        capsys,
        'echo "[$ORACLE]"; ls -d /oracle* 2>/dev/null; grep -rs second /workspace /output /home; true',
    )
    assert said == "[]\n"
    assert outcome["oracle_passed"] is False


def test_a_repair_by_the_person_does_not_solve_the_task(
    work: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    said, outcome = look(work, capsys, f"{REPAIR}; cat a.txt")
    assert said == "second\n"
    assert outcome["resolved"] is False


def test_damage_by_the_person_does_not_fail_the_task(
    work: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    work.agent(f"sh({REPAIR!r})")
    said, outcome = look(
        work, capsys, "rm -rf * .git; ls -A; (echo x > ~/.profile; echo x > /output/x) 2>/dev/null; true"
    )
    assert said == ""
    assert (outcome["status"], outcome["kind"], outcome["resolved"]) == ("measured", None, True)


def test_a_cell_whose_session_broke_can_be_looked_at(
    work: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    work.agent("sh('echo left > new'); sys.exit(7)")
    root = ["--root", str(work.root)]
    main([*work.overrides(), *root, "--json"])
    run = json.loads(capsys.readouterr().out)["run"]
    assert main(["debug", run, "--cell", "t/one/0", "--command", "cat new", *root, "--quiet"]) == 1
    said = capsys.readouterr().out
    assert said.startswith(
        "left\nt/one/0: failed session-error\nthe agent ended without a result event (exit code 7)"
    )

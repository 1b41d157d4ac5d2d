"""Assets derived from a task's starting state: made once, shown to the arms with the tool, without oracle text."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cell_project import CellProject

from bench.errors import WorkspaceError
from bench.sweep.deriving import MOST_BYTES

HIDDEN = "assert rounded(2.675) == Decimal('2.68')  # half up"
TOOL = {"index": {"kind": "derived", "asset": "index"}}


def asset(command: str, target: str = "/opt/index") -> list[dict[str, str]]:
    return [{"name": "index", "command": command, "target": target}]


def with_asset(project: CellProject, command: str, **changes: Any) -> None:
    project.tree({"a.txt": "first\n"})
    project.task("t", "true", derived=asset(command), **changes)
    project.arm("with_index", tools=TOOL)


def derive(
    project: CellProject, names: Sequence[str] = ("t",), *overrides: str
) -> list[tuple[Path, dict[str, str]]]:
    """The folder of each task's asset, and what its files held."""
    with project.templates(*overrides) as (templates, tasks, _):
        folders = [templates.derive(tasks[name], tasks[name].derived[0]) for name in names]
        return [(folder, {path.name: path.read_text() for path in folder.iterdir()}) for folder in folders]


def refusal(project: CellProject) -> str:
    with pytest.raises(WorkspaceError) as caught:
        derive(project)
    return str(caught.value)


@pytest.mark.parametrize("sandbox", ["bubblewrap", "host"])
def test_an_asset_is_made_of_the_starting_state_with_the_tasks_environment(
    project: CellProject, sandbox: str
) -> None:
    command = 'cat a.txt made.txt > "$OUTPUT/list"; python3 -c "print(1 + 1)" >> "$OUTPUT/list"'
    with_asset(project, command, setup="echo second > made.txt", environment={"python": True})
    ((_, files),) = derive(project, ["t"], f"sandbox={sandbox}")
    assert files == {"list": "first\nsecond\n2\n"}


def test_the_command_can_change_neither_the_template_nor_reach_a_network(project: CellProject) -> None:
    with_asset(
        project,
        "rm -rf .git a.txt; echo x > b.txt; ls -A > /output/list; ls /sys/class/net > /output/net 2>&1; true",
    )
    with project.templates() as (templates, tasks, _):
        folder = templates.derive(tasks["t"], tasks["t"].derived[0])
        tree = templates.build(tasks["t"]).tree
        assert (folder / "list").read_text() == "b.txt\n"
        assert sorted(path.name for path in tree.iterdir()) == [".git", "a.txt"]


def test_tasks_of_one_starting_state_share_what_is_derived_from_it(project: CellProject) -> None:
    with_asset(project, "date +%s%N > /output/time")
    project.task("u", "true", derived=asset("date +%s%N > /output/time"))
    project.task("v", "true", derived=asset("date +%N > /output/time"))
    (first, _), (second, _), (other, _) = derive(project, ["t", "u", "v"])
    assert first == second != other


def test_nothing_of_an_asset_is_writable(project: CellProject) -> None:
    with_asset(
        project,
        "mkdir /output/deep; echo x > /output/deep/x; chmod 777 /output/deep/x; ln -s x /output/deep/link",
    )
    with project.templates() as (templates, tasks, _):
        folder = templates.derive(tasks["t"], tasks["t"].derived[0])
        modes = [path.lstat().st_mode for path in (folder, *folder.rglob("*")) if not path.is_symlink()]
        assert len(modes) == 3
        assert not any(stat.S_IMODE(mode) & 0o222 for mode in modes)


def test_sessions_of_arms_with_the_tool_see_the_asset_read_only_and_others_do_not(
    project: CellProject,
) -> None:
    with_asset(project, "cp a.txt /output/")
    project.arm("without_index", role="comparator")
    project.task("other", "true")
    project.agent(
        "say(type='message', text=json.dumps(session['tools']) + ' ')\n"
        "sh('cat /opt/index/a.txt 2>&1; touch /opt/index/x 2>/dev/null && echo written')"
    )
    found = project.measure()
    tool = '[{"command": [], "kind": "derived", "name": "index", "path": "/opt/index"}]'
    assert found.said("t", "with_index") == f"{tool} first\n"
    assert found.said("t", "without_index").startswith("[] cat: /opt/index/a.txt: No such file")
    assert found.said("other", "with_index").startswith("[] cat: /opt/index/a.txt: No such file")


def test_a_cell_whose_asset_cannot_be_made_says_why_and_others_are_measured(project: CellProject) -> None:
    with_asset(project, "echo told; echo broken >&2; exit 3")
    project.arm("without_index", role="comparator")
    found = project.measure()
    row = found.rows["t", "with_index"]
    assert (row.outcome.status, row.outcome.kind) == ("failed", "infra-error")
    assert row.outcome.detail == "the command of the asset 'index' of task 't' failed (exit 3): broken"
    assert found.outcome("t", "without_index")[0] == "measured"


def test_assets_are_derived_while_earlier_cells_run(project: CellProject) -> None:
    """The first cell ends once the asset of the last task is there: in a sweep that makes it later, it times out."""
    with_asset(project, 'echo x > "$OUTPUT/x"')
    project.task("later", "true", derived=asset('echo y > "$OUTPUT/y"'))
    project.agent(
        f"import glob, time\nwhile not glob.glob('{project.scratch}/bench-*/d/*/output/y'): time.sleep(0.01)"
    )
    found = project.measure("sandbox=host", "timeout=30")
    assert found.outcome("t", "with_index") == ("measured", "no-work-produced")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("true", "the asset 'index' derived for task 't' is empty: its command wrote nothing to /output"),
        ("mkfifo /output/pipe", "the asset 'index' derived for task 't' is refused: pipe is neither a file"),
        (f"truncate -s {MOST_BYTES + 1} /output/large", "holds 268,435,457 bytes, more than the 268,435,456"),
        ("no-such-command", "failed (exit 127): /bin/sh: 1: no-such-command: not found"),
        ("kill -9 $$", "the command of the asset 'index' of task 't' failed (killed"),
    ],
)
def test_an_asset_that_cannot_be_shown_is_refused_in_words(
    project: CellProject, command: str, said: str
) -> None:
    with_asset(project, command)
    assert said in refusal(project)


@pytest.mark.parametrize("wrapping", ["%s", "x%s", '{"text": "%s"}', "\\000\\001\\002%s\\003"])
def test_an_asset_with_a_line_of_an_oracle_is_refused_and_the_line_is_not_told(
    project: CellProject, wrapping: str
) -> None:
    project.write("suites/mine/oracles/expected", f"import decimal\n    {HIDDEN}\n")
    with_asset(
        project,
        f"mkdir /output/deep; printf '{wrapping}' \"{HIDDEN}\" > /output/deep/index; echo x > /output/a",
    )
    message = refusal(project)
    assert "its file deep/index holds text of a hidden oracle of the suite" in message
    assert "2.675" not in message


def test_the_oracles_of_all_tasks_of_the_suite_are_looked_for(project: CellProject) -> None:
    project.write(
        "suites/mine/labels/l.json",
        '{"schema_version": 1, "findings": [{"id": "total-is-rounded-too-early", "severity": "low", "path": "a.txt", "line_start": 1, "line_end": 1, "category": "correctness"}]}',
    )
    with_asset(project, "echo id: total-is-rounded-too-early > /output/index")
    project.task("review", "true")
    project.tasks[-1] |= {"class": "review-defect", "change": "all", "oracle": {"labels": "labels/l.json"}}
    assert "its file index holds text of a hidden oracle" in refusal(project)


def test_text_that_the_starting_state_holds_itself_is_no_trace(project: CellProject) -> None:
    project.write("suites/mine/oracles/expected", f"{HIDDEN}\n")
    with_asset(project, "cp check.py /output/")
    project.tree({"check.py": f"    {HIDDEN}\n"})
    ((_, files),) = derive(project)
    assert HIDDEN in files["check.py"]


def test_the_asset_of_a_cell_is_gone_with_the_run(project: CellProject) -> None:
    with_asset(project, "echo x > /output/x")
    project.measure()
    assert os.listdir(project.scratch) == []

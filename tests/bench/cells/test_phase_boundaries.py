"""Nothing but the plan crosses from a plan session to the work: no home, no output, no `.git`, no file."""

import pytest
from cell_project import WORK, CellProject

SESSIONS = {
    "plan": {"kind": "plan", "prompt": "prompts/plan.md", "order": 1, "boundary": []},
    "work": {"kind": "work", "prompt": "prompts/work_from_plan.md", "order": 2},
}
HANDED = """
place = paths["home"], paths["output"], paths["workspace"] + "/.git", "/tmp", "/var/tmp", "/run"
if session["kind"] == "plan":
    for folder in place:
        try: open(folder + "/handed", "w").write("a second plan")
        except OSError: pass
    sh("git config core.hooksPath /tmp/handed; git tag handed; git hash-object -w a.txt; mkdir .git/worktrees")
    open(paths["artifact"], "w").write("# The plan\\n")
else:
    found = [folder for folder in place if os.path.exists(folder + "/handed")]
    say(type="message", text=f"found {found}; ")
    sh("cat a.txt; git tag; git config core.hooksPath; ls .git | grep worktrees; git status --short; echo done >> a.txt")
    say(type="message", text=open(paths["plan"]).read())
"""


@pytest.fixture
def planned(project: CellProject) -> CellProject:
    project.tree({"a.txt": "first\n"})
    project.task("t", "grep -q done a.txt")
    project.arm("planned", SESSIONS)
    return project


@pytest.mark.parametrize("workspace", ["auto", "copy"])
def test_the_plan_is_all_that_a_plan_session_hands_on(planned: CellProject, workspace: str) -> None:
    planned.agent(HANDED)
    measured = planned.measure(f"sandbox.workspace={workspace}")
    assert measured.said("t", "planned") == "found []; first\n# The plan\n"
    assert measured.outcome("t", "planned") == ("measured", None)


def test_a_second_work_session_gets_the_work_and_an_empty_home(project: CellProject) -> None:
    project.tree({"a.txt": "first\n"})
    project.task("t", "grep -q done a.txt")
    project.arm(
        "twice", {name: {"kind": "work", "prompt": WORK, "order": number} for number, name in enumerate("ab")}
    )
    project.agent(
        'sh("cat a.txt; ls ~ /output; echo done >> a.txt; echo x > ~/handed; echo x > /output/handed")'
    )
    measured = project.measure()
    assert measured.said("t", "twice", "b") == "first\ndone\n/home/agent:\n\n/output:\n"


def test_what_an_earlier_session_left_in_its_home_is_still_a_sign(project: CellProject) -> None:
    project.tree({"a.txt": "first\n"})
    project.task("t", "false")
    project.arm(
        "twice", {name: {"kind": "work", "prompt": WORK, "order": number} for number, name in enumerate("ab")}
    )
    project.agent(
        'if session["session"] == "a":\n    sh("printf \'[core]\\n\\thooksPath = /tmp\\n\' > ~/.gitconfig")'
    )
    row = project.measure().rows["t", "twice"]
    assert row.outcome.kind == "tampered", row.outcome


def test_a_plan_that_is_too_large_is_a_missing_plan_and_is_never_cut(planned: CellProject) -> None:
    planned.agent('open(paths["artifact"], "w").write("p" * (256 * 1024 + 1))')
    row = planned.measure().rows["t", "planned"]
    assert (row.outcome.status, row.outcome.kind) == ("measured", "plan-missing")
    assert "session plan left a plan of more than 262,144 bytes" in row.outcome.detail
    assert list(row.sessions) == ["plan"]

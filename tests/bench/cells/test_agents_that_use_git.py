"""What an agent does with the repository of its cell changes nothing of how its work is measured."""

import pytest
from cell_project import CellProject

REPAIR = "sed -i s/first/second/ a.txt"
WAYS = {
    "commits": "git add -A && git -c user.name=a -c user.email=a@b commit -q -m work",
    "switches branch": "git checkout -q -b other",
    "commits on another branch": "git checkout -q -b other && git -c user.name=a -c user.email=a@b commit -q -a -m work",
    "begins a new history": "git checkout -q --orphan fresh && git -c user.name=a -c user.email=a@b commit -q -a -m work",
    "removes the repository": "rm -rf .git",
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_work_counts_the_same_however_it_is_left_in_git(project: CellProject, way: str) -> None:
    project.tree({"a.txt": "first\n"})
    project.write("suites/mine/oracles/expected", "second\n")
    project.task("t", 'cmp a.txt "$ORACLE/expected" && cat')
    project.arm("one")
    project.agent(f"sh({REPAIR!r})")
    plain = project.measure()
    project.agent(f"sh({f'{REPAIR}; {way}'!r})")
    done = project.measure()
    assert done.outcome("t", "one")[0] == plain.outcome("t", "one")[0] == "measured"
    assert "+second" in done.patch("t", "one")
    assert done.patch("t", "one") == plain.patch("t", "one")


def test_work_that_was_left_behind_on_another_branch_is_no_work(project: CellProject) -> None:
    project.tree({"a.txt": "first\n"})
    project.write("suites/mine/oracles/expected", "second\n")
    project.task("t", 'cmp a.txt "$ORACLE/expected" && cat')
    project.arm("one")
    back = f"{WAYS['commits on another branch']} && git checkout -q main"
    project.agent(f"sh({f'{REPAIR}; {back}'!r})")
    assert project.measure().outcome("t", "one") == ("measured", "oracle-failed")

"""Work and plan sessions of the agent `rulebook`, with skills, tools and plans: real processes, git and ast-grep."""

import json
import os
from pathlib import Path

import pytest
from rulebook_desk import NONE_RULE, PRINT_RULE, Desk, make_desk, run_program


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


def test_work_applies_the_fixes_to_tracked_and_untracked_files(desk: Desk) -> None:
    desk.skill(NONE_RULE, PRINT_RULE)
    desk.commit(a="é = 'é'\r\nif é == None and b == None:\r\n    print(é)\r\n", clean="x = 1\n")
    desk.write(b"new\xff.py", "y == None\n").chmod(0o755)
    desk.write(".gitignore", "ignored.py\n")
    desk.write("ignored.py", "y == None\n")
    ended = desk.run("work")
    assert (desk.workspace / "a.py").read_bytes().decode() == (
        "é = 'é'\r\nif é is None and b is None:\r\n    print(é)\r\n"
    )
    new = desk.workspace / os.fsdecode(b"new\xff.py")
    assert (new.read_text(), new.stat().st_mode & 0o777) == ("y is None\n", 0o755)
    assert (desk.workspace / "ignored.py").read_text() == "y == None\n"
    assert ended.messages == ["Left 1 match of rules that have no fix."]
    assert ended.result["message"] == "Made 3 changes in 2 files."
    assert not desk.artifact.exists()


def test_of_fixes_that_overlap_the_outer_one_is_applied_and_the_other_counted(desk: Desk) -> None:
    desk.skill(NONE_RULE, "id: curry\nlanguage: python\nrule: {pattern: $F($A)}\nfix: curry($F, $A)\n")
    desk.commit(a="f(x == None) == None\n", b="g(1)(2)\n")
    ended = desk.run("work")
    assert (desk.workspace / "a.py").read_text() == "f(x == None) is None\n"
    assert (desk.workspace / "b.py").read_text() == "curry(g(1), 2)\n"
    assert ended.messages == ["Left out 3 changes that would overlap another one."]


def test_a_fix_may_reach_beyond_its_match(desk: Desk) -> None:
    desk.skill('id: p\nlanguage: python\nrule: {pattern: b}\nfix: {template: "", expandEnd: {regex: ","}}\n')
    desk.commit(a="f(a, b, c)\n")
    desk.run("work")
    assert (desk.workspace / "a.py").read_text() == "f(a,  c)\n"


def test_a_plan_lists_what_work_would_change_and_changes_nothing(desk: Desk) -> None:
    desk.skill(NONE_RULE, PRINT_RULE)
    desk.commit(a="x == None\nprint(1)\n")
    desk.write("odd\nname.py", "f(y == None) == None\n")
    ended = desk.run("plan")
    assert desk.artifact.read_text() == (
        "# Plan\n\nThe rules ask for 2 changes in 2 files.\n\n"
        "- `a.py:1` none-comparison: Compare x with None by identity\n"
        "- `odd\\nname.py:1` none-comparison: Compare f(y == None) with None by identity\n\n"
        "To look at, where the rules have no change of their own:\n\n"
        "- `a.py:2` no-print: A library does not print\n"
    )
    assert (desk.workspace / "a.py").read_text() == "x == None\nprint(1)\n"
    assert ended.result == {
        "type": "result",
        "status": "completed",
        "message": "Planned 2 changes in 2 files.",
    }


def test_a_plan_without_anything_to_do_names_no_file(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit(a="x = 1\n")
    desk.run("plan")
    assert desk.artifact.read_text() == "# Plan\n\nThe rules ask for 0 changes in 0 files.\n"


@pytest.mark.parametrize("named", ["- `a.py:1` why", "see `a.py`", "`a.py:1-2`"])
def test_work_along_a_plan_changes_only_the_files_that_the_plan_names(desk: Desk, named: str) -> None:
    desk.skill(NONE_RULE)
    desk.commit(a="x == None\n", aa="x == None\n", b="x == None\n")
    desk.write("deep/a.py", "x == None\n")
    ended = desk.work(plan=desk.plan(f"# Plan\nLeave b.py and ` a.py` and `b.pyi:1` alone.\n{named}\n"))
    texts = {name: (desk.workspace / name).read_text() for name in ("a.py", "aa.py", "b.py", "deep/a.py")}
    assert texts == {
        "a.py": "x is None\n",
        "aa.py": "x == None\n",
        "b.py": "x == None\n",
        "deep/a.py": "x == None\n",
    }
    assert ended.messages == []


def test_what_plan_writes_down_work_can_follow(desk: Desk) -> None:
    desk.skill(NONE_RULE, name="planner")
    desk.skill(NONE_RULE, PRINT_RULE + "fix: log($$$A)\n")
    desk.commit(a="print(1)\n")
    odd = [b"odd\nname.py", b"bad\xff.py", b"back`quote.py", "ü.py".encode()]
    for name in odd:
        desk.write(name, "x == None\n")
    desk.run("plan", skills=("planner",))
    ended = desk.work(plan=desk.artifact)
    assert ended.result["message"] == "Made 4 changes in 4 files."
    assert [(desk.workspace / os.fsdecode(name)).read_text() for name in odd] == ["x is None\n"] * 4
    assert (desk.workspace / "a.py").read_text() == "print(1)\n"


def test_a_plan_that_names_no_file_changes_nothing_and_says_so(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit(a="x == None\n")
    ended = desk.work(plan=desk.plan("# Plan\n\nThe rules ask for 0 changes in 0 files.\n"))
    assert ended.messages == ["The plan names no file of the workspace, so nothing is changed."]
    assert (ended.result["status"], ended.result["message"]) == ("completed", "Made 0 changes in 0 files.")
    assert (desk.workspace / "a.py").read_text() == "x == None\n"


def test_a_plan_that_names_files_is_not_said_to_name_none_where_there_is_no_rule(desk: Desk) -> None:
    desk.commit(a="x == None\n")
    assert desk.work(plan=desk.plan("- `a.py:1`\n"), skills=()).messages == []


def test_a_plan_that_is_not_there_is_an_error(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit(a="x == None\n")
    ended = desk.work(plan=desk.root / "nowhere.md")
    assert (ended.code, ended.errors, ended.result["status"]) == (0, "", "error")
    assert "The plan cannot be read" in ended.result["message"]
    assert (desk.workspace / "a.py").read_text() == "x == None\n"


# ---- tools


def test_rules_of_a_folder_tool_count_in_work_and_plan_and_not_in_a_review(desk: Desk) -> None:
    desk.skill(PRINT_RULE + "fix: log($$$A)\n")
    tool = desk.tool(f"# Rules\n```yaml\n{NONE_RULE}```\n", file="deep/none.md")
    desk.commit()
    desk.write("a.py", "print(x == None)\ny == None\n")
    run_program(desk.session("review", tools=(tool,)))
    assert [finding["line"] for finding in json.loads(desk.artifact.read_bytes())["findings"]] == [1]
    run_program(desk.session("plan", tools=(tool,)))
    assert "- `a.py:2` none-comparison: Compare y with None by identity\n" in desk.artifact.read_text()
    ended = desk.work(tool)
    assert (desk.workspace / "a.py").read_text() == "log(x == None)\ny is None\n"
    assert "Read 1 rule from the tool 'rules'." in ended.messages


def test_without_a_skill_the_rules_of_a_tool_are_carried_out_alone(desk: Desk) -> None:
    desk.commit(a="x == None\n")
    desk.work(desk.tool(f"```yaml\n{NONE_RULE}```\n"), skills=())
    assert (desk.workspace / "a.py").read_text() == "x is None\n"


def test_tools_that_are_no_folder_are_passed_over(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit(a="x == None\n")
    index = {"name": "index", "kind": "derived", "path": "/nowhere", "command": []}
    server = {"name": "server", "kind": "mcp", "path": None, "command": ["/nowhere/server"]}
    ended = desk.work(index, server)
    assert (ended.result["message"], ended.messages) == ("Made 1 change in 1 file.", [])


def test_a_tool_inside_the_workspace_is_not_changed_itself(desk: Desk) -> None:
    desk.commit(a="x == None\n")
    desk.write("tools/rules/rules.md", f"```yaml\n{NONE_RULE}```\n")
    example = desk.write("tools/rules/example.py", "x == None\n")
    tool = {"name": "rules", "kind": "folder", "path": str(desk.workspace / "tools" / "rules")}
    assert desk.work(tool, skills=()).result["message"] == "Made 1 change in 1 file."
    assert example.read_text() == "x == None\n"


def test_a_missing_tool_folder_is_an_error_that_names_it(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit(a="x == None\n")
    ended = desk.work({"name": "rules", "kind": "folder", "path": str(desk.root / "nowhere")})
    assert (ended.code, ended.errors, ended.result["status"]) == (0, "", "error")
    assert "The tool 'rules' cannot be read: there is no folder" in ended.result["message"]
    assert (desk.workspace / "a.py").read_text() == "x == None\n"


def test_an_id_that_a_skill_and_a_tool_use_is_an_error_that_names_both(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit()
    message = desk.work(desk.tool(f"```yaml\n{NONE_RULE}```\n")).result["message"]
    assert "'none-comparison' is used twice" in message
    assert "code-review/SKILL.md" in message
    assert "tools/rules/rules.md" in message


def test_a_malformed_rule_of_a_tool_is_an_error_also_where_a_plan_names_no_file(desk: Desk) -> None:
    desk.skill(PRINT_RULE)
    desk.commit(a="x == None\n")
    tool = desk.tool("```yaml\nid: wrong\nlanguage: python\nrule: {kind: nope}\n```\n")
    message = desk.work(tool, plan=desk.plan("nothing")).result["message"]
    assert "tools/rules/rules.md (block at line 1)" in message
    assert "Kind `nope` is invalid." in message

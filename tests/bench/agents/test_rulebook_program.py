"""The program of the agent `rulebook`, run as the sandbox runs it: a real process, real git, real ast-grep."""

import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rulebook_desk import NONE_RULE, PRINT_RULE, PROGRAM, Desk, make_desk, run_program


def load(module: str) -> Any:
    """A module of the program, without the package around it: the program must stand alone."""
    if "rulebook_program" not in sys.modules:
        start, place = PROGRAM / "__init__.py", [str(PROGRAM)]
        spec = importlib.util.spec_from_file_location(
            "rulebook_program", start, submodule_search_locations=place
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules["rulebook_program"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["rulebook_program"])
    return importlib.import_module(f"rulebook_program.{module}")


KEYS = {
    *(
        "id",
        "severity",
        "path",
        "line",
        "end_line",
        "category",
        "scenario",
        "evidence",
        "recommendation",
        "blocking",
    ),
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


# ---- review: what is reported


def test_only_matches_on_added_or_changed_lines_are_reported(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit(a="old == None\nx = 1\ny = 2\nz == None\ngone == None\n", b="b == None\n")
    desk.write("a.py", "old == None\nx == None\ny = 2\nz == None\nadded == None\n")
    assert desk.places() == [("a.py", 2), ("a.py", 5)]


def test_staged_changes_count_and_a_deleted_file_does_not(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit(a="x = 1\n", b="b == None\n", c="c == None\n")
    desk.write("a.py", "x = 1\nstaged == None\n")
    desk.write("new.py", "new == None\n")
    desk.git("add", "-A")
    desk.git("rm", "-q", "b.py")
    (desk.workspace / "c.py").unlink()
    assert desk.places() == [("a.py", 2), ("new.py", 1)]


def test_every_line_of_an_untracked_file_counts_unless_git_ignores_it(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit()
    desk.write(".gitignore", "ignored.py\n")
    desk.write("ignored.py", "x == None\n")
    desk.write(".hidden/new.py", "x = 1\n\ny == None\n")
    assert desk.places() == [(".hidden/new.py", 3)]


def test_without_a_change_nothing_is_reported(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit(a="x == None\n")
    assert desk.places() == []


def test_a_repository_without_a_commit_is_all_change(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.write("a.py", "x == None\n")
    desk.git("add", "a.py")
    assert desk.places() == [("a.py", 1)]


def test_a_match_over_several_lines_is_reported_when_the_change_touches_one_of_them(desk: Desk) -> None:
    desk.skill("id: calls\nlanguage: python\nmessage: m\nrule: {pattern: f($$$A)}\n")
    desk.commit(a="f(\n  1,\n  2,\n)\n\nf(\n  3,\n)\n")
    desk.write("a.py", "f(\n  1,\n  22,\n)\n\nf(\n  3,\n)\n")
    (finding,) = desk.review()["findings"]
    assert (finding["line"], finding["end_line"]) == (1, 4)


def test_a_match_that_ends_with_a_line_end_does_not_reach_into_the_next_line(desk: Desk) -> None:
    desk.skill("id: all\nlanguage: python\nmessage: m\nrule: {kind: module}\n")
    desk.commit()
    desk.write("a.py", "x = 1\ny = 2\n")
    (finding,) = desk.review()["findings"]
    assert (finding["line"], finding["end_line"]) == (1, 2)


def test_odd_file_names_are_reported_as_they_are(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit()
    names = ["-dash.py", "new\nline.py", "sp ace.py", '"quoted".py', "ü.py"]
    for name in names:
        desk.write(name, "x = 1\n")
    desk.git("add", "-A")
    desk.git("commit", "-q", "-m", "names")
    for name in names:
        desk.write(name, "x = 1\ny == None\n")
    assert desk.places() == [(name, 2) for name in sorted(names)]


def test_findings_in_a_file_that_cannot_be_named_are_dropped_and_counted(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit()
    desk.write(b"bad\xff.py", "x == None\ny == None\n")
    desk.write("good.py", "x == None\n")
    ended = desk.run()
    assert ended.messages == [
        "Dropped 2 findings in files whose names are not UTF-8 or longer than 512 bytes."
    ]
    assert [finding["path"] for finding in json.loads(desk.artifact.read_bytes())["findings"]] == ["good.py"]


def test_links_and_the_skills_themselves_are_not_reviewed(desk: Desk) -> None:
    desk.commit()
    skills = desk.workspace / ".claude" / "skills"
    desk.skill(NONE_RULE)
    shutil.copytree(desk.root / "skills", skills)
    desk.write(".claude/skills/code-review/example.py", "x == None\n")
    target = desk.root / "outside.py"
    target.write_text("x == None\n")
    (desk.workspace / "link.py").symlink_to(target)
    ended = desk.run(folder=skills)
    assert ended.result == {"type": "result", "status": "completed", "message": "Reported 0 findings."}


def test_settings_of_the_repository_neither_run_programs_nor_change_the_lines(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit(a="a == None\n\nc = 1\n\nd == None\n", b="")
    desk.write("a.py", "a == None\n\nc == None\n\nd == None\ne == None\n")
    desk.write("b.py", "b == None\n")
    desk.write(".gitattributes", "a.py diff=odd\nb.py -diff\n")
    desk.write("sgconfig.yml", "broken: [")
    trap = desk.root / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {desk.root}/sprung\n")
    trap.chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "diff.odd.textconv", "diff.odd.command"):
        desk.git("config", key, str(trap))
    for key, value in (("diff.interHunkContext", "9"), ("color.ui", "always"), ("diff.noprefix", "true")):
        desk.git("config", key, value)
    assert desk.places() == [("a.py", 3), ("a.py", 6), ("b.py", 1)]
    assert not (desk.root / "sprung").exists()


def test_a_review_leaves_the_workspace_untouched(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit(a="x == None\n")
    os.utime(desk.write("a.py", "x == None\n"), (1, 1))
    before = {path: path.read_bytes() for path in desk.workspace.rglob("*") if path.is_file()}
    assert desk.review()["verdict"] == "approve"
    assert {path: path.read_bytes() for path in desk.workspace.rglob("*") if path.is_file()} == before


# ---- review: the artifact


def test_a_finding_has_exactly_the_ten_keys_and_takes_its_texts_from_the_rule(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit()
    desk.write("a.py", "if x == None: pass\n")
    review = desk.review()
    assert review == {
        "schema_version": 1,
        "verdict": "comment",
        "findings": [
            {
                "id": "none-comparison:a.py:1",
                "severity": "medium",
                "path": "a.py",
                "line": 1,
                "end_line": 1,
                "category": "correctness",
                "scenario": "Compare x with None by identity",
                "evidence": "x == None",
                "recommendation": "Equality can be overloaded.\nSuggested replacement: x is None",
                "blocking": False,
            }
        ],
    }
    assert set(review["findings"][0]) == KEYS


@pytest.mark.parametrize(
    ("stated", "severity", "verdict"),
    [
        ("severity: error", "high", "request_changes"),
        ("severity: warning", "medium", "comment"),
        ("severity: info", "low", "comment"),
        ("severity: hint", "low", "comment"),
        ("severity: hint\nmetadata: {severity: critical}", "critical", "request_changes"),
        ("severity: error\nmetadata: {severity: low}", "low", "comment"),
        ("severity: error\nmetadata: {severity: urgent, category: 7}", "high", "request_changes"),
    ],
)
def test_the_metadata_decide_the_severity_before_the_level_does(
    desk: Desk, stated: str, severity: str, verdict: str
) -> None:
    desk.skill(f"id: r\nlanguage: python\n{stated}\nrule: {{pattern: $A == None}}\n")
    desk.commit()
    desk.write("a.py", "x == None\n")
    review = desk.review()
    assert (review["findings"][0]["severity"], review["verdict"]) == (severity, verdict)
    assert (
        review["findings"][0]["scenario"] == review["findings"][0]["recommendation"] == "Matches the rule r."
    )


def test_two_matches_of_a_rule_on_the_same_lines_are_one_finding(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit()
    desk.write("a.py", "(x == None) or (y == None)\n")
    (finding,) = desk.review()["findings"]
    assert finding["evidence"] == "x == None"


def test_the_first_hundred_findings_in_path_order_are_kept_and_the_rest_is_counted(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit()
    for name in ("b.py", "a.py", "c.py"):
        desk.write(name, "x == None\n" * 60)
    ended = desk.run()
    findings = json.loads(desk.artifact.read_bytes())["findings"]
    assert [(finding["path"], finding["line"]) for finding in findings] == [
        *(("a.py", line) for line in range(1, 61)),
        *(("b.py", line) for line in range(1, 41)),
    ]
    assert ended.messages == ["Wrote the first 100 of 180 findings in path order; dropped 80."]


def test_long_texts_are_cut_so_that_a_hundred_findings_fit(desk: Desk) -> None:
    rule = f"id: {'r' * 200}\nlanguage: python\nmessage: {'ü' * 5000}\nnote: {'n' * 5000}\nrule: {{kind: string}}\n"
    desk.skill(rule)
    desk.commit()
    name = "/".join(["d" * 100] * 4) + "/a.py"
    desk.write(name, "".join(f"x = '{number}{'s' * 5000}'\n" for number in range(100)))
    findings = desk.review()["findings"]
    assert desk.artifact.stat().st_size <= 256 * 1024
    assert len(findings) == len({finding["id"] for finding in findings}) == 100
    assert all(0 < len(finding["id"].encode()) <= 128 for finding in findings)
    for key in ("scenario", "evidence", "recommendation"):
        assert all(finding[key].strip() and len(finding[key].encode()) <= 4096 for finding in findings)


def test_ids_stay_unique_where_two_matches_start_on_the_same_line(desk: Desk) -> None:
    desk.skill("id: calls\nlanguage: python\nmessage: m\nrule: {kind: call}\n")
    desk.commit()
    desk.write("a.py", "f(g(\n  1\n), h())\n")
    findings = desk.review()["findings"]
    assert [(finding["line"], finding["end_line"]) for finding in findings] == [(1, 3), (3, 3)]
    desk.write("a.py", "f(g(\n  1\n),\n  2)\n")
    findings = desk.review()["findings"]
    assert [(finding["line"], finding["end_line"]) for finding in findings] == [(1, 3), (1, 4)]
    assert len({finding["id"] for finding in findings}) == 2


def test_two_runs_in_different_surroundings_write_the_same_bytes(desk: Desk) -> None:
    desk.skill(NONE_RULE, PRINT_RULE)
    desk.commit()
    for number in range(30):
        desk.write(f"{number}.py", "x == None\nprint(x == None)\n" * 2)
    first, artifact = desk.run(), desk.artifact.read_bytes()
    desk.artifact.unlink()
    second = run_program(desk.session("review"), environment={"LC_ALL": "POSIX", "TZ": "Asia/Tokyo"})
    assert (second.raw, desk.artifact.read_bytes()) == (first.raw, artifact)
    assert [finding["path"] for finding in json.loads(artifact)["findings"]][:4] == ["0.py"] * 4


# ---- skills and their rules


def test_without_a_skill_the_change_is_approved(desk: Desk) -> None:
    desk.commit()
    desk.write("a.py", "x == None\n")
    ended = desk.run(skills=())
    assert json.loads(desk.artifact.read_bytes()) == {
        "schema_version": 1,
        "verdict": "approve",
        "findings": [],
    }
    assert [event["type"] for event in ended.events] == ["usage", "result"]


def test_a_skill_without_front_matter_and_rules_is_read_and_finds_nothing(desk: Desk) -> None:
    desk.markdown(
        "Think hard.\n```yaml\nid: example\n```\n```yaml\nrule: {}\n```\n```python\nx == None\n```\n"
    )
    desk.commit()
    desk.write("a.py", "x == None\n")
    ended = desk.run()
    assert ended.events[0] == {"type": "skill", "name": "code-review", "ok": True}
    assert json.loads(desk.artifact.read_bytes())["verdict"] == "approve"


def test_rules_of_reference_files_and_of_several_skills_all_count(desk: Desk) -> None:
    desk.markdown("# No rules here\n")
    desk.skill(NONE_RULE, file="reference/deep/none.md")
    desk.skill(PRINT_RULE, name="style")
    desk.commit()
    desk.write("a.py", "x == None\nprint(1)\n")
    findings = desk.review("code-review", "style")["findings"]
    assert [(finding["line"], finding["category"]) for finding in findings] == [
        (1, "correctness"),
        (2, "style"),
    ]


def test_files_of_a_rule_are_relative_to_the_workspace(desk: Desk) -> None:
    desk.skill(NONE_RULE + 'files: ["src/**"]\n')
    desk.commit()
    desk.write("src/a.py", "x == None\n")
    desk.write("b.py", "x == None\n")
    assert desk.places() == [("src/a.py", 1)]


def test_a_missing_skill_is_an_error_that_names_it(desk: Desk) -> None:
    desk.commit()
    ended = desk.run(skills=("nowhere",))
    assert ended.events[0] == {"type": "skill", "name": "nowhere", "ok": False}
    assert (ended.code, ended.result["status"]) == (0, "error")
    assert "'nowhere'" in ended.result["message"]
    assert "skills/nowhere/SKILL.md" in ended.result["message"]
    assert not desk.artifact.exists()


@pytest.mark.parametrize(
    ("rule", "named", "cause"),
    [
        ("id: wrong\nlanguage: python\nrule: {kind: nope}\n", "the rule 'wrong'", "Kind `nope` is invalid."),
        ("id: 'wrong' # why\nrule: {kind: call}\n", "the rule 'wrong'", "missing field `language`"),
        (
            "id: [odd]\nlanguage: python\nrule: {kind: call}\n",
            "a rule whose id cannot be read",
            "line 1, column 5",
        ),
        ("id: wrong\nlanguage: python\nrule: {kind: [}\n", "the rule 'wrong'", "mismatched bracket"),
    ],
)
@pytest.mark.parametrize("changed", ["x == None\n", ""])
def test_a_malformed_rule_is_an_error_that_names_file_rule_and_cause(
    desk: Desk, rule: str, named: str, cause: str, changed: str
) -> None:
    desk.skill(PRINT_RULE)
    desk.skill(NONE_RULE, rule, file="reference/more.md")
    desk.commit(a="")
    desk.write("a.py", changed)
    ended = desk.run()
    message = ended.result["message"]
    assert (ended.code, ended.errors, ended.result["status"]) == (0, "", "error")
    assert "reference/more.md (block at line 16)" in message
    assert named in message
    assert cause in message
    assert "\n" not in message


def test_an_id_that_is_used_twice_is_an_error_that_names_both_files(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.skill(NONE_RULE.replace("none-comparison", '"none-comparison"'), name="other", file="SKILL.md")
    desk.commit()
    message = desk.run(skills=("code-review", "other")).result["message"]
    assert "'none-comparison' is used twice" in message
    assert "code-review/SKILL.md" in message
    assert "other/SKILL.md" in message


def test_a_skill_that_is_not_utf8_is_an_error_that_names_the_file(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    (desk.root / "skills" / "code-review" / "SKILL.md").write_bytes(b"caf\xe9\n")
    desk.commit()
    assert "SKILL.md is not UTF-8" in desk.run().result["message"]


def test_fences_are_read_as_markdown_reads_them() -> None:
    rule = "id: {}\nrule: x\n"
    markdown = (
        "````markdown\n```yaml\n" + rule.format("quoted") + "```\n````\n"
        "  ~~~yaml title\n  " + rule.format("tilde").replace("\nr", "\n  r") + "  ~~~\n"
        "```yaml\n" + rule.format("first") + "--- # next\n" + rule.format("second") + "```\n"
        "    ```yaml\n    " + rule.format("indented") + "    ```\n"
        "```yml\n" + rule.format("other") + "```\n"
        "```yaml\n" + rule.format("unclosed")
    )
    rules = list(load("rules").rules_in_markdown(markdown, "S.md"))
    assert [rule.identifier for rule in rules] == ["tilde", "first", "second", "unclosed"]
    assert rules[0].text == "id: tilde\nrule: x\n"


@given(text=st.text(), limit=st.integers(min_value=8, max_value=64))
def test_a_bounded_text_fits_and_is_blank_only_where_the_text_is(text: str, limit: int) -> None:
    cut = load("text").bounded(text, limit)
    assert len(cut.encode("utf-8")) <= limit
    assert bool(cut.strip()) == bool(text.replace("\r\n", "\n").strip())


# ---- the contract


def test_steps_are_reported_as_turns_and_everything_else_is_unknown(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.markdown("nothing\n", name="second")
    desk.commit(a="x == None\n", b="x == None\n")
    usage = desk.run("work", skills=("code-review", "second")).events[-2]
    assert usage.pop("type") == "usage"
    assert usage.pop("turns") == 2 + 1 + 2
    assert usage
    assert set(usage.values()) == {None}


def test_a_tool_and_a_plan_that_were_read_are_a_turn_each(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit(a="x == None\n", b="x == None\n")
    tools = [desk.tool("nothing\n"), desk.tool("nothing\n", name="more")]
    ended = desk.work(*tools, plan=desk.plan("- `b.py:1`\n"))
    assert ended.events[-2]["turns"] == 1 + 2 + 1 + 1 + 1  # skill, tools, plan, run of ast-grep, file


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "`schema` is missing"),
        (b'{"schema": "session/2"}', "`session/1` only"),
        (b'{"schema": "session/1", "kind": "dance"}', "'dance'; it knows review, plan, work"),
        (
            b'{"schema": "session/1", "kind": "work", "skills": [{}], "paths": {"workspace": "/"}}',
            "`name` is missing",
        ),
        (
            b'{"schema": "session/1", "kind": "work", "skills": [], "paths": {"workspace": "x"}}',
            "an absolute path",
        ),
        (
            b'{"schema": "session/1", "kind": "work", "skills": [], "paths": {"workspace": "/nowhere"}}',
            "not a folder",
        ),
        (
            b'{"schema": "session/1", "kind": "work", "skills": [], "tools": {}, "paths": {"workspace": "/"}}',
            "`tools` must be a list",
        ),
        (
            (
                b'{"schema": "session/1", "kind": "work", "paths": {"workspace": "/"}, "skills": [], "tools": '
                b'[{"name": "rules", "kind": "folder", "path": null}]}'
            ),
            "`path` must be a text",
        ),
        (
            b'{"schema": "session/1", "kind": "work", "skills": [], "paths": {"workspace": "/", "plan": "x"}}',
            "`paths.plan` must be an absolute path",
        ),
        (
            b'{"schema": "session/1", "kind": "plan", "skills": [], "paths": {"workspace": "/"}}',
            "`paths.artifact`",
        ),
    ],
)
def test_a_malformed_session_ends_with_an_error_result_and_code_0(stdin: bytes, said: str) -> None:
    ended = run_program(stdin)
    assert (ended.code, ended.errors) == (0, "")
    assert [event["type"] for event in ended.events] == ["usage", "result"]
    assert ended.result["status"] == "error"
    assert said in ended.result["message"]


def test_a_workspace_without_git_is_an_error_even_inside_another_repository(
    desk: Desk, tmp_path: Path
) -> None:
    desk.skill(NONE_RULE)
    shutil.rmtree(desk.workspace / ".git")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    ended = desk.run()
    assert "not a git repository" in ended.result["message"]
    assert (ended.code, ended.errors, ended.result["status"]) == (0, "", "error")


def test_an_artifact_that_cannot_be_written_is_an_error_and_leaves_nothing_behind(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit()
    desk.artifact.mkdir(parents=True)
    ended = desk.run()
    assert (ended.code, ended.errors, ended.result["status"]) == (0, "", "error")
    assert [path.name for path in desk.artifact.parent.iterdir()] == ["artifact"]


def test_an_ast_grep_that_is_not_there_is_an_error_that_says_so(desk: Desk) -> None:
    desk.skill(NONE_RULE)
    desk.commit()
    ended = run_program(desk.session("work"), ast_grep=desk.root / "nowhere")
    assert (ended.code, ended.errors, ended.result["status"]) == (0, "", "error")
    assert "ast-grep cannot be started" in ended.result["message"]


def test_more_output_than_can_be_held_is_an_error_instead_of_a_part_of_it(desk: Desk) -> None:
    program = desk.root / "renamed"
    shutil.copytree(PROGRAM, program, ignore=shutil.ignore_patterns("__pycache__"))
    source = (program / "search.py").read_text()
    assert "_MAX_OUTPUT_BYTES = 256 * 1024 * 1024" in source
    (program / "search.py").write_text(
        source.replace("_MAX_OUTPUT_BYTES = 256 * 1024 * 1024", "_MAX_OUTPUT_BYTES = 99")
    )
    desk.skill(NONE_RULE)
    desk.commit(a="x == None\n" * 10_000)
    ended = run_program(desk.session("work"), program)
    assert (ended.code, ended.errors, ended.result["status"]) == (0, "", "error")
    assert "narrow the rules" in ended.result["message"]

"""Projects unlike the starter: another language, another place for skills, a change of two skills at once."""

from cell_project import CellProject, skill_text

BROKEN = "{ sum = $1 }\nEND { print sum }\n"
FIX = "sh(\"sed -i 's/sum = /sum += /' total.awk\")"
SECRET = 'test "$(printf \'1\\n2\\n3\\n\' | awk -f total.awk)" = "$(cat "$ORACLE/expected")"'


def awk_project(project: CellProject) -> None:
    """A repository without any Python: what is checked needs only what is in /usr."""
    project.tree({"total.awk": BROKEN, "check.sh": "test \"$(printf '3\\n4\\n' | awk -f total.awk)\" = 7\n"})
    project.write("suites/mine/oracles/expected", "6\n")
    project.task("sum-all-lines", SECRET, verify="sh check.sh")


def test_a_repository_of_another_language_is_repaired_and_judged(project: CellProject) -> None:
    awk_project(project)
    project.arm("one")
    project.agent(FIX + "; sh('sh check.sh && echo checked; command -v python3 || true')")
    found = project.measure()
    assert found.outcome("sum-all-lines", "one") == ("measured", None)
    assert found.said("sum-all-lines", "one").startswith("checked\n")
    row = found.rows["sum-all-lines", "one"]
    assert (row.outcome.verify_passed, row.outcome.oracle_passed, row.outcome.resolved) == (True, True, True)
    assert "+{ sum += $1 }" in found.patch("sum-all-lines", "one")


def test_a_repository_of_another_language_that_was_not_repaired_fails_both_checks(
    project: CellProject,
) -> None:
    awk_project(project)
    project.arm("one")
    project.agent("sh('echo x > notes')")
    outcome = project.measure().rows["sum-all-lines", "one"].outcome
    assert (outcome.status, outcome.verify_passed, outcome.oracle_passed) == ("measured", False, False)


def test_skills_may_live_under_agents_skills(project: CellProject) -> None:
    awk_project(project)
    root = ".agents/skills"
    project.skill("awk-work", "Add, do not assign.", root=root)
    project.arm("direct", skills=["awk-work"])
    project.arm("no_skill", role="comparator")
    project.agent(f"{FIX}; sh('cat {root}/*/SKILL.md | tail -1; ls -d .claude 2>&1')")
    found = project.measure(f"agent.options.skill_root={root}")
    assert found.said("sum-all-lines", "direct").startswith("Add, do not assign.\n")
    assert "ls: cannot access '.claude'" in found.said("sum-all-lines", "direct")
    row = found.rows["sum-all-lines", "direct"]
    assert (row.outcome.resolved, row.outcome.skill_invoked) == (True, True)
    assert row.change is not None
    assert row.change.files == 1
    assert "Add, do not assign." not in found.said("sum-all-lines", "no_skill")


def test_a_skill_is_put_where_the_agent_looks_wherever_the_project_keeps_it(project: CellProject) -> None:
    awk_project(project)
    project.skill("awk-work", "Add, do not assign.", root=".agents/skills")
    project.arm("direct", skills=["awk-work"])
    project.agent(FIX + "; sh('cat .agents/skills/*/SKILL.md')")
    found = project.measure()
    assert found.said("sum-all-lines", "direct") == ""
    assert found.rows["sum-all-lines", "direct"].outcome.skill_invoked is True


def two_sessions(project: CellProject) -> None:
    awk_project(project)
    project.skill("plan", "Plan nothing.")
    project.skill("work", "Do nothing.")
    sessions = {
        "plan": {"kind": "plan", "order": 1, "boundary": [], "skills": ["plan"]},
        "work": {"kind": "work", "order": 2, "skills": ["work"]},
    }
    project.arm("plan_work", sessions, skills=["plan", "work"])
    project.arm("candidate", sessions, skills=["plan", "work"], role="candidate", candidate_of="plan_work")
    # Each session does what its own skill says, with the sentence of the skill or the plan that it finds.
    project.agent(
        "text = open('.claude/skills/' + session['session'] + '/SKILL.md').read().splitlines()[-1]\n"
        "say(type='message', text=text)\n"
        "if session['kind'] == 'plan':\n"
        "    open(paths['artifact'], 'w').write(text)\n"
        "elif 'follow the plan' in text and 'awk' in open(paths['plan']).read():\n"
        f"    {FIX}\n"
    )


def test_one_overlay_changes_two_skills_and_each_session_reads_its_own(project: CellProject) -> None:
    two_sessions(project)
    overlay = {
        ".claude/skills/plan/SKILL.md": skill_text("plan", "Repair the awk program.").encode(),
        ".claude/skills/work/SKILL.md": skill_text("work", "Always follow the plan.").encode(),
    }
    found = project.measure(overlay=overlay)
    said = {
        arm: [found.said("sum-all-lines", arm, each) for each in ("plan", "work")]
        for arm in ("plan_work", "candidate")
    }
    assert said == {
        "plan_work": ["Plan nothing.", "Do nothing."],
        "candidate": ["Repair the awk program.", "Always follow the plan."],
    }
    assert found.outcome("sum-all-lines", "candidate") == ("measured", None)
    assert not found.rows["sum-all-lines", "plan_work"].outcome.resolved
    candidate, incumbent = (found.rows["sum-all-lines", arm].provenance for arm in ("candidate", "plan_work"))
    assert candidate.overlay is not None
    assert incumbent.overlay is None
    assert candidate.skill != incumbent.skill


def test_an_overlay_of_one_of_two_skills_leaves_the_other_as_it_is(project: CellProject) -> None:
    two_sessions(project)
    overlay = {".claude/skills/work/SKILL.md": skill_text("work", "Always follow the plan.").encode()}
    found = project.measure(overlay=overlay)
    assert found.said("sum-all-lines", "candidate", "plan") == "Plan nothing."
    assert not found.rows["sum-all-lines", "candidate"].outcome.resolved

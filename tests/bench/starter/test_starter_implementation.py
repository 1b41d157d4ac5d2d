"""The implementation tasks of the starter: who repairs what is so by construction, and the hidden tests can tell."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest
from implementation_evidence import (
    HERE,
    SKILLS,
    TOOLS,
    Job,
    Judge,
    Rules,
    apply_patch,
    changed_tree,
    implementation_tasks,
    known_rules,
    learnings,
    make_base,
    make_jobs,
    passes,
    read,
    run_oracle,
    verifies,
)
from starter_evidence import PROJECT, SUITE

TASKS = implementation_tasks()
NAMES = [str(task["id"]) for task in TASKS]
# Whose rules a task needs: the skill's, the tool's, both, those of the tool and of a learning, or what no rule can do.
NEEDS = {
    "fix-late-orders": "skill",
    "fix-count-sheets": "skill",
    "add-delivery-fees": "skill",
    "fix-stale-reservations": "skill",
    "fix-basket-total": "tool",
    "fix-urgent-reorders": "tool",
    "add-staff-discount": "both",
    "fix-agreed-minimums": "missing-is-none",
    "fix-arrival-days": "next-month",
    "fix-odd-cents": "more",
    "add-amended-orders": "more",
    "fix-page-titles": "skill",
    "fix-ended-subscriptions": "skill",
    "fix-feed-times": "tool",
    "add-reminders": "both",
    "add-best-customers": "missing-is-none",
    "fix-shelf-lives": "next-month",
    "fix-journal-tail": "more",
}
NOT_PLANNED = {"fix-stale-reservations", "fix-ended-subscriptions"}
VERIFIED_UNTOUCHED = {
    *("fix-late-orders", "fix-urgent-reorders", "fix-odd-cents", "fix-page-titles"),
    *("fix-ended-subscriptions", "fix-shelf-lives", "fix-journal-tail"),
}
REPAIRED_BY_ARM = {
    "no_skill": {"tool"},
    "no_tools": {"skill"},
    "direct": {"skill", "tool", "both"},
    "plan_work": {"skill", "tool", "both"},
}
TURNS_WITHOUT_A_CHANGE = {"no_skill": 2, "no_tools": 2, "direct": 3, "plan_work": 8}
# A candidate that takes more than this share of the incumbent's turns is refused by the gate.
COSTS_MORE = 1.2


def expected(arm: str, learned: Collection[str] = ()) -> set[str]:
    """The tasks that an arm resolves, once its skills have learned these learnings."""
    needs = REPAIRED_BY_ARM[arm].union(learned)
    resolved = {name for name, need in NEEDS.items() if need in needs}
    if "ask-with-a-default" in learned:
        resolved -= {"fix-count-sheets"}
    if arm == "plan_work" and "plan-loops-that-remove" not in learned:
        resolved -= NOT_PLANNED
    return resolved


def turns(job: Job, rules: Rules, arm: str, learned: Collection[str] = ()) -> int:
    """One for each skill, tool and plan read, each run of ast-grep, and each file written."""
    return TURNS_WITHOUT_A_CHANGE[arm] + len(rules.repaired(job, arm, learned))


@pytest.fixture(scope="module")
def rules() -> Rules:
    return known_rules()


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    return {job.name: job for job in make_jobs(tmp_path_factory.mktemp("jobs"))}


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    return Judge(tmp_path_factory.mktemp("judged"))


# ---- what there is


def test_there_is_enough_of_everything() -> None:
    assert set(NAMES) == set(NEEDS)
    assert {task["class"] for task in TASKS} == {
        *("trivial", "investigation-bug", "investigation-feature", "cross-module"),
    }
    splits = {
        need: {str(task["split"]) for task in TASKS if NEEDS[task["id"]] == need} for need in NEEDS.values()
    }
    assert all(found == {"train", "holdout"} for found in splits.values()), splits
    assert Counter(NEEDS.values())["more"] >= 3
    assert len(VERIFIED_UNTOUCHED) * 2 <= len(NAMES)


def test_half_of_the_tasks_can_be_judged_in_every_incumbent_arm() -> None:
    """Tasks that neither arm resolves do not count, and the gate wants half of them to."""
    for arm in ("direct", "plan_work"):
        assert len(expected(arm)) * 2 >= len(NAMES)


def test_every_task_starts_from_an_ordinary_change_and_hides_only_what_it_must() -> None:
    for task in TASKS:
        assert task["source"] == {"repository": "../..", "ref": "starter-base"}
        assert task["environment"] == {"python": True}
        prompt = (SUITE / task["prompt"]).read_text(encoding="utf-8")
        change = (SUITE / task["change"]).read_text(encoding="utf-8")
        assert len(prompt.splitlines()) >= 4
        assert "oracle" not in prompt.lower() + change.lower()
        assert not re.search(r"^\+.*\b(bug|wrong|fixme|todo|xxx)\b", change, re.IGNORECASE | re.MULTILINE), (
            task
        )
        assert set(re.findall(r"^\+\+\+ b/(\w+)/", change, re.MULTILINE)) <= {"larder", "tests"}


def test_answers_are_sealed_and_say_what_the_references_do() -> None:
    for name in NAMES:
        cases = tomllib.loads((SUITE / "oracles" / f"{name}.toml").read_text(encoding="utf-8"))["case"]
        answers = json.loads((HERE / "answers" / f"{name}.json").read_text(encoding="utf-8"))
        assert [case["says"] for case in cases] == list(answers)
        assert len(cases) >= 2
        for case in cases:
            assert set(case) == {"says", "code", "salt", "digest"}
            assert sealed(answers[case["says"]], case["salt"]) == case["digest"], (name, case["says"])
    salts = re.findall(
        r'^salt = "(.*)"$', "".join(map(read, (SUITE / "oracles").glob("*.toml"))), re.MULTILINE
    )
    assert len(set(salts)) == len(salts)


def sealed(answer: object, salt: str) -> str:
    """The digest as the driver computes it, by the driver's own function."""
    names: dict[str, object] = {"__name__": "check"}
    exec(read(SUITE / "oracles" / "check.py"), names)
    seal = names["seal"]
    assert callable(seal)
    return str(seal(answer, salt))


# ---- who repairs what


def test_a_task_that_needs_a_learning_is_half_repaired_in_the_same_file(
    jobs: dict[str, Job], rules: Rules
) -> None:
    """So the learning costs no turn more, and the gate cannot refuse it for its cost."""
    for name in ("missing-is-none", "next-month"):
        for job in (jobs[task] for task, need in NEEDS.items() if need == name):
            before = rules.repaired(job, "plan_work")
            after = rules.repaired(job, "plan_work", {name})
            assert before.keys() == after.keys() != set()
            assert before != after
            assert rules.repaired(job, "direct") == before


def test_what_no_rule_can_repair_no_rule_touches(jobs: dict[str, Job], rules: Rules) -> None:
    everything = {entry["id"] for entry in learnings()} - {"ask-with-a-default", "positive-conditions"}
    for task in (task for task, need in NEEDS.items() if need == "more"):
        assert rules.repaired(jobs[task], "direct", everything) == {}


@pytest.mark.parametrize(
    ("learned", "arm", "refused"),
    [
        ("missing-is-none", "direct", False),
        ("missing-is-none", "plan_work", False),
        ("say-what-changed", "direct", False),
        ("ask-with-a-default", "direct", True),
        ("ask-with-a-default", "plan_work", False),
        ("plan-loops-that-remove", "plan_work", False),
        ("next-month", "direct", False),
        ("next-month", "plan_work", False),
        ("positive-conditions", "direct", True),
        ("positive-conditions", "plan_work", False),
    ],
)
def test_only_learnings_that_touch_what_nobody_asked_for_cost_too_many_turns(
    jobs: dict[str, Job], rules: Rules, learned: str, arm: str, refused: bool
) -> None:
    shares = [
        turns(job, rules, arm, {learned}) / turns(job, rules, arm)
        for job in jobs.values()
        if NEEDS[job.name] != "more"
    ]
    assert (max(shares) > COSTS_MORE) is refused
    assert min(shares) >= 1


@pytest.mark.parametrize("name", ["fix-count-sheets"])
def test_one_hidden_test_tells_untouched_repaired_and_nearly_repaired_apart(
    name: str, tmp_path: Path
) -> None:
    tell_apart(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name != "fix-count-sheets"])
def test_a_hidden_test_tells_untouched_repaired_and_nearly_repaired_apart(name: str, tmp_path: Path) -> None:
    tell_apart(name, tmp_path)


def tell_apart(name: str, folder: Path) -> None:
    task = next(task for task in TASKS if task["id"] == name)
    untouched = make_base(folder / "untouched")
    apply_patch(untouched, SUITE / task["change"])
    job = Job(task, untouched, ())
    right, nearly = (changed_tree(job, {}, folder / kind) for kind in ("right", "nearly"))
    apply_patch(right, SUITE / "solutions" / f"{name}.patch")
    apply_patch(nearly, SUITE / "solutions" / f"{name}.nearly.patch")
    done = run_oracle(task, untouched, folder)
    assert (done.returncode, done.stderr) == (1, "")
    assert verifies(task, untouched) is (name in VERIFIED_UNTOUCHED)
    assert passes(task, right, folder)
    assert verifies(task, right)
    assert not passes(task, nearly, folder)


@pytest.mark.slow
@pytest.mark.parametrize("arm", sorted(REPAIRED_BY_ARM))
def test_every_arm_resolves_exactly_what_it_should(
    arm: str, jobs: dict[str, Job], rules: Rules, judge: Judge
) -> None:
    assert {name for name, job in jobs.items() if judge.resolves(job, rules.repaired(job, arm))} == expected(
        arm
    )


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["direct", "plan_work"])
@pytest.mark.parametrize("learned", [entry["id"] for entry in learnings()])
def test_every_learning_has_exactly_the_effect_that_it_should(
    learned: str, arm: str, jobs: dict[str, Job], rules: Rules, judge: Judge
) -> None:
    resolved = {
        name for name, job in jobs.items() if judge.resolves(job, rules.repaired(job, arm, {learned}))
    }
    assert resolved == expected(arm, {learned})


@pytest.mark.slow
def test_good_learnings_add_up(jobs: dict[str, Job], rules: Rules, judge: Judge) -> None:
    learned = {"missing-is-none", "plan-loops-that-remove", "next-month"}
    for arm in ("direct", "plan_work"):
        resolved = {
            name for name, job in jobs.items() if judge.resolves(job, rules.repaired(job, arm, learned))
        }
        assert resolved == {name for name, need in NEEDS.items() if need != "more"}


# ---- the agent itself


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["no_skill", "direct", "plan_work"])
def test_the_agent_changes_what_the_evidence_says_and_counts_its_turns(
    arm: str, jobs: dict[str, Job], rules: Rules, tmp_path: Path
) -> None:
    for job in jobs.values():
        workspace = changed_tree(job, {}, tmp_path / job.name)
        subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
        counted = 0
        plan = tmp_path / f"{job.name}.md" if arm == "plan_work" else None
        if plan:
            counted += run_agent("plan", workspace, ["fix-plan"], plan, None)
        counted += run_agent("work", workspace, [] if arm == "no_skill" else ["fix-work"], None, plan)
        repaired = rules.repaired(job, arm)
        for path in sorted(path for path in job.tree.rglob("*.py") if path.is_file()):
            name = path.relative_to(job.tree).as_posix()
            assert (workspace / name).read_bytes() == repaired.get(name, path.read_bytes()), (job.name, name)
        assert counted == turns(job, rules, arm), job.name


def run_agent(kind: str, workspace: Path, skills: list[str], artifact: Path | None, plan: Path | None) -> int:
    """Run one session of the built-in agent and return the turns that it counted."""
    session = {
        "schema": "session/1",
        "session": kind,
        "kind": kind,
        "prompt": "…",
        "paths": {
            "workspace": str(workspace),
            "artifact": str(artifact or workspace / "notes.md"),
            "plan": str(plan) if plan else None,
        },
        "skills": [{"name": name, "path": str(SKILLS / name)} for name in skills],
        "tools": [{"name": "rules", "kind": "folder", "path": str(TOOLS), "command": []}],
    }
    program = PROJECT.parents[1] / "agents" / "rulebook" / "program"
    command = [sys.executable, "-I", "-S", str(program), str(Path(sys.executable).parent / "ast-grep")]
    done = subprocess.run(command, input=json.dumps(session).encode(), capture_output=True, check=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["status"] == "completed", events
    return int(events[-2]["turns"])

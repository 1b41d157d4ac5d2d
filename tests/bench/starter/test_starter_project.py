"""The starter project is what it says it is: a sound library, seeded changes, a skill with gaps, a queue of ideas."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from types import CodeType

import pytest
import yaml
from starter_evidence import (
    ENOUGH_FOR_A_SIGN_TEST,
    PROJECT,
    QUEUE,
    SKILL,
    SUITE,
    WEIGHTS,
    Starter,
    code_lines,
    effect,
    harmless,
    lay_out,
    pair,
    read_change,
    rule_id,
    rules_of,
    scan,
    score,
    unpack,
    verdict,
    with_learning,
    with_matches,
)


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Starter:
    folder = tmp_path_factory.mktemp("starter")
    root = unpack(folder / "project")
    tasks = yaml.safe_load((SUITE / "suite.yaml").read_text(encoding="utf-8"))["tasks"]
    changes = [read_change(task) for task in tasks if "labels" in task["oracle"]]
    for change in changes:
        lay_out(root, change, folder / "after")
    learnings = [json.loads(line) for line in QUEUE.read_text(encoding="utf-8").splitlines()]
    incumbent = rules_of(SKILL)
    learned = [entry["rule"] for entry in learnings if "rule" in entry]
    found = [*scan(folder / "after", [*incumbent, *learned])]
    return Starter(
        root=root,
        changes=tuple(with_matches(change, found) for change in changes),
        incumbent=frozenset(rule_id(rule) for rule in incumbent),
        learnings=tuple(learnings),
    )


def test_the_library_is_a_real_one() -> None:
    modules = [*(PROJECT / "larder").glob("*.py")]
    assert len(modules) >= 12
    assert sum(code_lines(module) for module in modules) >= 1500


def test_the_tests_of_the_library_pass(starter: Starter) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "unittest"], cwd=starter.root, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert re.search(rb"Ran \d{2,} tests", done.stderr)


def test_no_rule_of_the_skill_matches_the_library(starter: Starter) -> None:
    assert [*scan(starter.root / "larder", rules_of(SKILL))] == []
    assert [*scan(starter.root / "tests", rules_of(SKILL))] == []


def test_the_root_is_marked_and_names_its_suite() -> None:
    text = (PROJECT / "evolve.toml").read_text(encoding="utf-8")
    assert 'name = "starter"' in text
    assert 'suite = "starter"' in text


def test_the_skill_has_front_matter_and_ends_with_what_was_learned() -> None:
    text = (SKILL / "SKILL.md").read_text(encoding="utf-8")
    front_matter = yaml.safe_load(text.split("---\n")[1])
    assert front_matter["name"] == "code-review"
    assert front_matter["description"]
    *_, last = re.split(r"^## ", text, flags=re.MULTILINE)
    assert last.startswith("Learned\n")
    assert len(last.strip().splitlines()) == 3


def test_the_suite_has_enough_of_everything(starter: Starter) -> None:
    assert len(starter.changes) >= 16
    assert len(starter.defects) >= 13
    assert len(starter.controls) >= 3
    assert {change.task["split"] for change in starter.defects} == {"train", "holdout"}
    assert {change.task["split"] for change in starter.controls} == {"train", "holdout"}
    assert len({change.name for change in starter.changes}) == len(starter.changes)
    assert all(
        change.task["source"] == {"repository": "../..", "ref": "starter-base"} for change in starter.changes
    )


def test_every_change_touches_several_files_and_has_a_plausible_size(starter: Starter) -> None:
    for change in starter.changes:
        size = len(re.findall(r"^[+-](?![+-]{2} )", change.patch, re.MULTILINE))
        assert len(change.added) >= 2, change.name
        assert 30 <= size <= 120, (change.name, size)


def test_every_changed_file_still_compiles(starter: Starter) -> None:
    paths = sorted((starter.root.parent / "after").rglob("*.py"))
    assert paths
    assert all(isinstance(compile(path.read_bytes(), path, "exec"), CodeType) for path in paths)


@pytest.mark.slow
def test_the_tests_of_the_library_pass_with_every_change(starter: Starter) -> None:
    for change in starter.changes:
        whole = starter.root.parent / "whole" / change.name
        shutil.copytree(starter.root / "larder", whole / "larder")
        shutil.copytree(starter.root / "tests", whole / "tests")
        shutil.copytree(starter.root.parent / "after" / change.name, whole, dirs_exist_ok=True)
        command = [sys.executable, "-m", "unittest"]
        done = subprocess.run(command, cwd=whole, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (change.name, done.stderr)


def test_labels_lie_on_added_lines_and_apart_from_each_other(starter: Starter) -> None:
    for change in starter.changes:
        for index, label in enumerate(change.labels):
            assert set(range(label.start, label.end + 1)) <= change.added[label.path], (change.name, label)
            assert not any(label.overlaps(other) for other in change.labels[index + 1 :]), (
                change.name,
                label,
            )


def test_only_clean_controls_have_no_labels(starter: Starter) -> None:
    assert all(not change.labels for change in starter.controls)
    assert all(2 <= len(change.labels) <= 4 for change in starter.defects)


def test_every_severity_and_every_verdict_is_right_somewhere(starter: Starter) -> None:
    labels = [label for change in starter.changes for label in change.labels]
    assert {label.severity for label in labels} == set(WEIGHTS)
    assert Counter(verdict(change.labels) for change in starter.changes).keys() == {
        "approve",
        "comment",
        "request_changes",
    }


def test_the_skill_finds_something_but_not_everything_in_each_defect(starter: Starter) -> None:
    for change in starter.defects:
        found = pair(change.found_by(starter.incumbent), change.labels)
        assert 1 <= len(found) < len(change.labels), change.name


def test_the_skill_says_nothing_wrong(starter: Starter) -> None:
    for change in starter.changes:
        assert score(change, starter.incumbent).false_positives == 0, change.name
    assert all(score(change, starter.incumbent).verdict_right for change in starter.controls)


def test_every_rule_says_what_the_label_says(starter: Starter) -> None:
    exaggerated = rule_id(starter.learnings[-1]["rule"])
    for change in starter.defects:
        sound = [match for match in change.matches if match.rule != exaggerated]
        for match in sound:
            for label in change.labels:
                if match.overlaps(label):
                    assert (match.severity, match.category) == (label.severity, label.category), (
                        change.name,
                        match,
                    )


def test_every_rule_of_the_skill_file_is_needed(starter: Starter) -> None:
    own = re.findall(r"^id: (\S+)", (SKILL / "SKILL.md").read_text(encoding="utf-8"), re.MULTILINE)
    used = {match.rule for change in starter.defects for match in change.matches}
    assert set(own) <= used


def test_the_incumbent_is_right_on_some_verdicts_and_wrong_on_others(starter: Starter) -> None:
    right = Counter(score(change, starter.incumbent).verdict_right for change in starter.defects)
    assert right[True] >= 3
    assert right[False] >= 3


def test_learnings_have_distinct_names_and_known_tasks(starter: Starter) -> None:
    names = {change.name for change in starter.changes}
    assert len(starter.learnings) >= 6
    assert len({entry["id"] for entry in starter.learnings}) == len(starter.learnings)
    assert all(entry["skill"] == "code-review" for entry in starter.learnings)
    assert all(entry.get("task", next(iter(names))) in names for entry in starter.learnings)
    learned = [rule_id(entry["rule"]) for entry in starter.learnings if "rule" in entry]
    assert not starter.incumbent & set(learned)
    assert len(set(learned)) == len(learned)


def test_learnings_were_seen_on_tasks_that_proposers_may_learn_from(starter: Starter) -> None:
    splits = {change.name: change.task["split"] for change in starter.changes}
    assert all(splits[entry["task"]] == "train" for entry in starter.learnings if "task" in entry)


def test_the_first_learning_helps_often_and_harms_nothing(starter: Starter) -> None:
    names = effect(starter, starter.incumbent, with_learning(starter, 0))
    assert harmless(names)
    splits = Counter(change.task["split"] for change in starter.defects if change.name in names["better"])
    assert min(splits["train"], splits["holdout"]) >= ENOUGH_FOR_A_SIGN_TEST


def test_the_second_learning_changes_nothing(starter: Starter) -> None:
    entry = starter.learnings[1]
    assert "rule" not in entry or not any(
        change.found_by(frozenset({rule_id(entry["rule"])})) for change in starter.changes
    )


def test_the_third_learning_accuses_good_code(starter: Starter) -> None:
    names = effect(starter, starter.incumbent, with_learning(starter, 2))
    controls = {change.name for change in starter.controls}
    assert names["better"], "it must look plausible"
    assert names["false positives"] & controls
    assert names["verdict"] & controls


def test_the_last_learning_is_right_about_lines_and_wrong_about_their_weight(starter: Starter) -> None:
    names = effect(starter, starter.incumbent, with_learning(starter, len(starter.learnings) - 1))
    assert names["better"], "it must look plausible"
    assert not names["false positives"]
    assert names["verdict"]


def test_good_learnings_add_up(starter: Starter) -> None:
    rules = starter.incumbent
    for entry in (starter.learnings[0], *starter.learnings[3:-1]):
        grown = rules | {rule_id(entry["rule"])}
        names = effect(starter, rules, grown)
        assert names["better"], entry["id"]
        assert harmless(names), entry["id"]
        rules = grown


def test_a_good_learning_has_several_forms_that_occur(starter: Starter) -> None:
    alternatives = [rule_id(entry["rule"]) for entry in starter.learnings[3:-1] if "any:" in entry["rule"]]
    forms = {
        rule: {
            re.sub(r"\(.*", "", match.text)
            for change in starter.defects
            for match in change.found_by(frozenset({rule}))
        }
        for rule in alternatives
    }
    assert max(len(found) for found in forms.values()) >= 3, forms

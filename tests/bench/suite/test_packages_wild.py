"""The committed suite `wild`, fetched from the package index: what its design promises about the real packages."""

import json
import re
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.suite.packages import packages_specification, prepare_packages
from bench.suite.packages_model import PackagesSpec, PreparedSuite

ROOT = Path(__file__).parents[3]
PROJECT = ROOT / "bench" / "starter" / "project"
IDIOMS = PROJECT / ".claude/skills/code-review/references/python-idioms.md"
AST_GREP = Path(sys.executable).parent / "ast-grep"
RUFF = Path(sys.executable).parent / "ruff"
MOST_FINDINGS = 100
HARMFUL = "forbid-catch-alls"

needs_tools = pytest.mark.skipif(
    not RUFF.is_file() or not AST_GREP.is_file() or find_spec("pip") is None,
    reason="needs pip, ast-grep and the extra `wild` (ruff) in this environment",
)


def configured() -> dict[str, Any]:
    suite: dict[str, Any] = yaml.safe_load((ROOT / "conf/suite/wild.yaml").read_text(encoding="utf-8"))
    return suite


def specification() -> PackagesSpec:
    return packages_specification(configured()["prepare"])


def learnings() -> list[dict[str, str]]:
    lines = (PROJECT / configured()["learnings"]).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def idiom_rules() -> list[str]:
    blocks = re.findall(r"^```yaml\n(.*?)^```", IDIOMS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if re.search("^rule:", block, re.MULTILINE)]


def lines_found(tree: Path, rules: list[str]) -> set[tuple[str, str, int, int]]:
    """What the agent reports: each rule, path and range of lines (1-based) once."""
    command = [str(AST_GREP), "scan", "--inline-rules", "\n---\n".join(rules), "--json=stream", "."]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return {
        (
            found["ruleId"],
            Path(found["file"]).as_posix(),
            found["range"]["start"]["line"] + 1,
            found["range"]["end"]["line"] + 1,
        )
        for found in map(json.loads, done.stdout.splitlines())
    }


def labels_of(suite: Path, package: str) -> list[dict[str, Any]]:
    document = json.loads((suite / "labels" / f"{package}.json").read_text(encoding="utf-8"))
    findings: list[dict[str, Any]] = document["findings"]
    return findings


@pytest.fixture(scope="module")
def wild(tmp_path_factory: pytest.TempPathFactory) -> PreparedSuite:
    folder = tmp_path_factory.mktemp("prepared") / "wild"
    return prepare_packages(specification(), folder, print)


def test_the_list_is_complete_and_half_of_it_is_held_out() -> None:
    packages = dict(specification().chosen)

    splits = Counter(package.split for package in packages.values())
    assert len(packages) >= 40
    assert splits["train"] == splits["holdout"] >= 20
    assert all(package.labels for package in packages.values())


def test_the_pinned_tool_is_the_one_that_the_extra_installs() -> None:
    assert f'wild = ["ruff=={specification().tool.version}"]' in (ROOT / "pyproject.toml").read_text()


@needs_tools
def test_every_rule_of_the_skill_and_of_the_queue_is_accepted_and_ids_are_unique(tmp_path: Path) -> None:
    rules = idiom_rules() + [learning["rule"] for learning in learnings() if "rule" in learning]

    assert lines_found(tmp_path, rules) == set()
    identifiers = [re.findall(r"^id: (\S+)$", rule, re.MULTILINE) for rule in rules]
    assert all(len(found) == 1 for found in identifiers)
    assert len({found[0] for found in identifiers}) == len(rules)


def test_the_queue_holds_at_least_six_learnings_seen_only_on_train_tasks() -> None:
    train = {f"review-{name}" for name, package in specification().chosen if package.split == "train"}

    queue = learnings()
    assert len(queue) >= 6
    assert len({learning["id"] for learning in queue}) == len(queue)
    assert {learning["task"] for learning in queue if "task" in learning} <= train


@needs_tools
@pytest.mark.network
def test_the_skill_in_use_matches_a_label_of_every_package_but_the_controls(wild: PreparedSuite) -> None:
    clean = [task for task in wild.tasks if task.clean]
    assert len(clean) >= 2
    assert {task.split for task in clean} == {"train", "holdout"}
    for task in wild.tasks:
        found = lines_found(wild.folder / "trees" / task.package, idiom_rules())
        matched = [
            label
            for label in labels_of(wild.folder, task.package)
            for _, path, first, last in found
            if path == label["path"] and first <= label["line_end"] and last >= label["line_start"]
        ]
        assert bool(matched) is not task.clean, task.package


@needs_tools
@pytest.mark.network
def test_no_task_asks_for_more_findings_than_a_review_may_hold(wild: PreparedSuite) -> None:
    useful = [learning for learning in learnings() if "rule" in learning and learning["id"] != HARMFUL]
    rules = idiom_rules() + [learning["rule"] for learning in useful]

    assert len(useful) == len(learnings()) - 2
    for task in wild.tasks:
        assert task.labels <= MOST_FINDINGS
        assert len(lines_found(wild.folder / "trees" / task.package, rules)) <= MOST_FINDINGS, task.package


@needs_tools
@pytest.mark.network
def test_packages_of_a_users_own_list_need_neither_split_nor_label_digests(tmp_path: Path) -> None:
    mapping = configured()["prepare"]
    mapping["packages"] = {
        name: {key: mapping["packages"][name][key] for key in ("version", "sha256")}
        for name in ("humanize", "bottle")
    }

    prepared = prepare_packages(packages_specification(mapping), tmp_path / "own", print)

    assert [(task.package, task.split, task.clean) for task in prepared.tasks] == [
        ("bottle", "train", False),
        ("humanize", "holdout", True),
    ]

"""What the starter project holds, read and measured without the harness: a second opinion on its data."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

PROJECT = Path(__file__).parents[3] / "bench" / "starter" / "project"
SUITE = PROJECT / "suites" / "starter"
SKILL = PROJECT / ".claude" / "skills" / "code-review"
QUEUE = PROJECT / "learnings" / "starter.jsonl"
WEIGHTS = {"critical": 8, "high": 5, "medium": 2, "low": 1}
BLOCKING = {"critical", "high"}
ENOUGH_FOR_A_SIGN_TEST = 6  # 2 ** -6 is below the 6 / pi ** 2 * .05 that the first release test may spend


@dataclass(frozen=True)
class Place:
    """Lines of a file, both ends included, and what is said about them."""

    path: str
    start: int
    end: int
    severity: str
    category: str
    rule: str = ""
    text: str = ""

    def overlaps(self, other: Place) -> bool:
        return self.path == other.path and self.start <= other.end and other.start <= self.end


@dataclass(frozen=True)
class Change:
    """One task: its change, the labels of the change and every match of every known rule on its added lines."""

    task: Mapping[str, Any]
    patch: str
    added: Mapping[str, frozenset[int]]
    labels: tuple[Place, ...]
    matches: tuple[Place, ...] = field(default=())

    @property
    def name(self) -> str:
        return str(self.task["id"])

    @property
    def clean(self) -> bool:
        return str(self.task["class"]) == "review-clean"

    def found_by(self, rules: frozenset[str]) -> list[Place]:
        return [match for match in self.matches if match.rule in rules]


@dataclass(frozen=True)
class Score:
    """What one set of rules gets on one change. F1 is None for a clean control."""

    false_positives: int
    weighted_f1: float | None
    verdict_right: bool


@dataclass(frozen=True)
class Starter:
    """The unpacked project, its changes and the rules that the skill has today."""

    root: Path
    changes: tuple[Change, ...]
    incumbent: frozenset[str]
    learnings: tuple[Mapping[str, Any], ...]

    @property
    def defects(self) -> list[Change]:
        return [change for change in self.changes if not change.clean]

    @property
    def controls(self) -> list[Change]:
        return [change for change in self.changes if change.clean]


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=starter", "-c", "user.email=starter@example.invalid")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def unpack(target: Path) -> Path:
    shutil.copytree(PROJECT, target, ignore=shutil.ignore_patterns("__pycache__"))
    git(target, "init", "--quiet")
    git(target, "add", "--all")
    git(target, "commit", "--quiet", "--message", "Start")
    git(target, "tag", "starter-base")
    return target


def rules_of(folder: Path) -> list[str]:
    """The fenced yaml blocks of a skill's Markdown that are rules."""
    blocks = [
        block
        for path in sorted(folder.rglob("*.md"))
        for block in re.findall(
            r"^```yaml\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
    ]
    return [
        block
        for block in blocks
        if re.search(r"^rule:", block, re.MULTILINE) and re.search(r"^id:", block, re.MULTILINE)
    ]


def rule_id(rule: str) -> str:
    return str(yaml.safe_load(rule)["id"])


def severity_of(match: Mapping[str, Any]) -> str:
    fallback = {"error": "high", "warning": "medium", "info": "low", "hint": "low"}[match["severity"]]
    return str(match.get("metadata", {}).get("severity", fallback))


def added_lines(patch: str) -> dict[str, frozenset[int]]:
    """The lines that a patch adds, by file, as they are numbered afterwards."""
    lines: dict[str, set[int]] = {}
    path, number = "", 0
    for line in patch.splitlines():
        if line.startswith("+++ b/"):
            path = line.removeprefix("+++ b/")
            lines[path] = set()
        elif hunk := re.match(r"@@ -\S+ \+(\d+)", line):
            number = int(hunk[1])
        elif line.startswith("+"):
            lines[path].add(number)
            number += 1
        elif line.startswith(" "):
            number += 1
    return {path: frozenset(numbers) for path, numbers in lines.items()}


def read_change(task: Mapping[str, Any]) -> Change:
    patch = (SUITE / task["change"]).read_text(encoding="utf-8")
    labels = json.loads((SUITE / task["oracle"]["labels"]).read_text(encoding="utf-8"))
    assert labels["schema_version"] == 1
    places = [
        Place(one["path"], one["line_start"], one["line_end"], one["severity"], one["category"])
        for one in labels["findings"]
    ]
    return Change(task, patch, added_lines(patch), tuple(places))


def lay_out(root: Path, change: Change, target: Path) -> None:
    """Copy the changed files, as they are after the change, below a folder of the task's name."""
    git(root, "apply", str(SUITE / change.task["change"]))
    for path in change.added:
        copy = target / change.name / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / path, copy)
    git(root, "reset", "--quiet", "--hard")
    git(root, "clean", "--quiet", "--force", "-d")


def scan(folder: Path, rules: Sequence[str]) -> Iterator[tuple[str, Place]]:
    """Matches below a folder with the name of the task that each one belongs to."""
    program = str(Path(sys.executable).parent / "ast-grep")
    command = [
        program,
        "scan",
        "--inline-rules",
        "\n---\n".join(rules),
        "--json=stream",
        "--include-metadata",
        ".",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stderr
    for line in done.stdout.splitlines():
        match = json.loads(line)
        task, _, path = match["file"].removeprefix("./").partition("/")
        start, end = match["range"]["start"]["line"] + 1, match["range"]["end"]["line"] + 1
        category = match.get("metadata", {}).get("category", "correctness")
        yield task, Place(path, start, end, severity_of(match), category, match["ruleId"], match["text"])


def with_matches(change: Change, found: Sequence[tuple[str, Place]]) -> Change:
    own = [
        place
        for task, place in found
        if task == change.name and change.added[place.path] & set(range(place.start, place.end + 1))
    ]
    return Change(change.task, change.patch, change.added, change.labels, tuple(own))


def pair(findings: Sequence[Place], labels: Sequence[Place]) -> dict[int, int]:
    """A largest matching of labels to findings on overlapping lines, by index."""
    owner: dict[int, int] = {}

    def place(finding: int, seen: set[int]) -> bool:
        for label in range(len(labels)):
            if label in seen or not findings[finding].overlaps(labels[label]):
                continue
            seen.add(label)
            if label not in owner or place(owner[label], seen):
                owner[label] = finding
                return True
        return False

    for finding in range(len(findings)):
        place(finding, set())
    return owner


def verdict(places: Sequence[Place]) -> str:
    if not places:
        return "approve"
    return "request_changes" if any(place.severity in BLOCKING for place in places) else "comment"


def score(change: Change, rules: frozenset[str]) -> Score:
    findings = change.found_by(rules)
    pairs = pair(findings, change.labels)
    weights = [
        min(WEIGHTS[findings[finding].severity], WEIGHTS[change.labels[label].severity])
        for label, finding in pairs.items()
    ]
    wrong = [one for index, one in enumerate(findings) if index not in pairs.values()]
    wrong_weight = sum(WEIGHTS[one.severity] for one in wrong)
    label_weight = sum(WEIGHTS[label.severity] for label in change.labels)
    # The harmonic mean of matched / (matched + wrong) and matched / labels.
    f1 = 2 * sum(weights) / (sum(weights) + wrong_weight + label_weight) if change.labels else None
    return Score(len(wrong), f1, verdict(findings) == verdict(change.labels))


def effect(starter: Starter, before: frozenset[str], after: frozenset[str]) -> dict[str, set[str]]:
    """The names of the changes on which the later rules are better or worse than the earlier ones, and how."""
    names: dict[str, set[str]] = {"better": set(), "f1": set(), "false positives": set(), "verdict": set()}
    for change in starter.changes:
        old, new = score(change, before), score(change, after)
        if (new.weighted_f1 or 0) >= (old.weighted_f1 or 0) + 0.01:
            names["better"].add(change.name)
        if (new.weighted_f1 or 0) < (old.weighted_f1 or 0):
            names["f1"].add(change.name)
        if new.false_positives > old.false_positives:
            names["false positives"].add(change.name)
        if old.verdict_right and not new.verdict_right:
            names["verdict"].add(change.name)
    return names


def with_learning(starter: Starter, number: int) -> frozenset[str]:
    return starter.incumbent | {rule_id(starter.learnings[number]["rule"])}


def harmless(names: Mapping[str, set[str]]) -> bool:
    return not (names["f1"] or names["false positives"] or names["verdict"])


def code_lines(path: Path) -> int:
    """Lines that hold code: no blank ones, no comments, no docstrings."""
    source = path.read_text(encoding="utf-8")
    skipped = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    numbers: set[int] = set()
    statement_starts = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skipped and not (token.type == tokenize.STRING and statement_starts):
            numbers.update(range(token.start[0], token.end[0] + 1))
        statement_starts = token.type in skipped or (statement_starts and token.type == tokenize.STRING)
    return len(numbers)

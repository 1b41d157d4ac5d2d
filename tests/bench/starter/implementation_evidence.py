"""What the starter's implementation tasks hold, measured without the harness and without the agent: a second opinion."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from starter_evidence import PROJECT, SUITE, rule_id, rules_of

HERE = Path(__file__).parent
SKILLS = PROJECT / ".claude" / "skills"
TOOLS = PROJECT / "tools" / "rules"
QUEUE = PROJECT / "learnings" / "implementation.jsonl"
TOKEN = "6a1f0c52"  # what the harness would have made up


@dataclass(frozen=True)
class Match:
    """A match of a rule with its bytes and, where the rule has a fix, what comes in their place."""

    path: str
    start: int
    end: int
    rule: str
    replacement: bytes | None


@dataclass(frozen=True)
class Job:
    """One task, the tree that it starts from, and all matches of all known rules in it."""

    task: Mapping[str, Any]
    tree: Path
    matches: tuple[Match, ...]

    @property
    def name(self) -> str:
        return str(self.task["id"])

    def matched_by(self, rules: frozenset[str]) -> set[str]:
        """The files in which these rules find something."""
        return {match.path for match in self.matches if match.rule in rules}


@dataclass(frozen=True)
class Rules:
    """The ids of the rules of each skill and of the `tool`, and the skill and rules of each learning."""

    known: Mapping[str, frozenset[str]]
    learnings: Mapping[str, tuple[str, frozenset[str]]]

    def of(self, skill: str, learned: Collection[str]) -> frozenset[str]:
        """What a skill knows once it has learned these learnings, as far as they are meant for it."""
        more = (ids for name, (owner, ids) in self.learnings.items() if name in learned and owner == skill)
        return self.known[skill].union(*more)

    def repaired(self, job: Job, arm: str, learned: Collection[str] = ()) -> dict[str, bytes]:
        """The files that an arm changes in a task, once the skills have learned these learnings."""
        tool = frozenset() if arm == "no_tools" else self.known["tool"]
        rules = tool if arm == "no_skill" else tool | self.of("fix-work", learned)
        planned = job.matched_by(tool | self.of("fix-plan", learned))
        found = job.matched_by(rules)
        return {
            path: repair(job, path, rules)
            for path in sorted(found if arm != "plan_work" else found & planned)
        }


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def implementation_tasks() -> list[Mapping[str, Any]]:
    tasks = yaml.safe_load(read(SUITE / "suite.yaml"))["tasks"]
    return [task for task in tasks if "command" in task["oracle"]]


def learnings() -> list[dict[str, Any]]:
    return [json.loads(line) for line in read(QUEUE).splitlines()]


def rule_texts() -> dict[str, list[str]]:
    """The rules of each skill and of the tool, as they stand in their files."""
    texts = {skill.name: rules_of(skill) for skill in SKILLS.iterdir()}
    return {
        name: [document for text in found for document in text.split("---\n")]
        for name, found in {**texts, "tool": rules_of(TOOLS)}.items()
    }


def known_rules() -> Rules:
    learned = {
        entry["id"]: (entry["skill"], frozenset([rule_id(entry["rule"])] if "rule" in entry else []))
        for entry in learnings()
    }
    return Rules({name: frozenset(map(rule_id, found)) for name, found in rule_texts().items()}, learned)


def make_base(folder: Path) -> Path:
    for name in ("larder", "tests"):
        shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def apply_patch(tree: Path, patch: Path) -> None:
    subprocess.run(["git", "apply", "--whitespace=nowarn", str(patch)], cwd=tree, check=True)


def make_jobs(folder: Path) -> list[Job]:
    """All tasks, each with its change applied to a copy of the library."""
    texts = rule_texts()
    rules = [*texts["fix-work"], *texts["fix-plan"], *texts["tool"]]
    rules += [entry["rule"] for entry in learnings() if "rule" in entry]
    base = make_base(folder / "base")
    jobs = []
    for task in implementation_tasks():
        tree = folder / str(task["id"])
        shutil.copytree(base, tree)
        apply_patch(tree, SUITE / task["change"])
        jobs.append(Job(task, tree, tuple(find(tree, rules))))
    return jobs


def find(tree: Path, rules: Sequence[str]) -> Iterator[Match]:
    """All matches below a folder, in order."""
    program = str(Path(sys.executable).parent / "ast-grep")
    command = [program, "scan", "--inline-rules", "\n---\n".join(rules), "--json=stream", "."]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stderr
    found = []
    for line in done.stdout.splitlines():
        match = json.loads(line)
        has_fix = "replacement" in match
        offsets = match["replacementOffsets"] if has_fix else match["range"]["byteOffset"]
        replacement = match["replacement"].encode() if has_fix else None
        path = match["file"].removeprefix("./")
        found.append(Match(path, offsets["start"], offsets["end"], match["ruleId"], replacement))
    yield from sorted(found, key=lambda match: (match.path, match.start, -match.end, match.rule))


def repair(job: Job, path: str, rules: frozenset[str]) -> bytes:
    """A file after the fixes of these rules; of two that overlap the first one counts."""
    content = (job.tree / path).read_bytes()
    pieces, position = [], 0
    for match in job.matches:
        fits = match.path == path and match.rule in rules and match.start >= position
        if fits and match.replacement is not None:
            pieces += [content[position : match.start], match.replacement]
            position = match.end
    return b"".join([*pieces, content[position:]])


def changed_tree(job: Job, files: Mapping[str, bytes], target: Path) -> Path:
    """A copy of a task's tree with some other files."""
    shutil.copytree(job.tree, target)
    for path, content in files.items():
        (target / path).write_bytes(content)
    return target


def run_oracle(task: Mapping[str, Any], tree: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a hidden test as the harness would: its files in a place of their own, a token on stdin."""
    staged = folder / f"oracle-{tree.name}"
    staged.mkdir(parents=True)
    for file in task["oracle"]["files"]:
        shutil.copyfile(SUITE / file["source"], staged / file["target"])
    environment = {"ORACLE": str(staged), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    return subprocess.run(
        ["/bin/sh", "-c", task["oracle"]["command"]],
        cwd=tree,
        env=environment,
        input=f"{TOKEN}\n",
        capture_output=True,
        text=True,
        check=False,
    )


def passes(task: Mapping[str, Any], tree: Path, folder: Path) -> bool:
    done = run_oracle(task, tree, folder)
    return done.returncode == 0 and done.stdout.split()[-1:] == [TOKEN]


def verifies(task: Mapping[str, Any], tree: Path) -> bool:
    """Run the visible tests of a task."""
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    command = ["/bin/sh", "-c", task["verify"]]
    return (
        subprocess.run(command, cwd=tree, env=environment, capture_output=True, check=False).returncode == 0
    )


class Judge:
    """Says which changes resolve a task; runs the same change once only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._said: dict[tuple[str, str], bool] = {}

    def resolves(self, job: Job, files: Mapping[str, bytes]) -> bool:
        digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]
        key = (job.name, digest)
        if key not in self._said:
            tree = changed_tree(job, files, self._folder / f"{job.name}-{digest}")
            self._said[key] = verifies(job.task, tree) and passes(job.task, tree, self._folder)
        return self._said[key]

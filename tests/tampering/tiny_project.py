"""A project with one small task, the ground that measures it, and cells that different programs work in."""

import difflib
import importlib.util
import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml
from msgspec import Struct, structs

import bench
from bench.agents import create_agent
from bench.arms import Cell, Journal, Turn, Workbench, measure
from bench.cancellation import Cancellation
from bench.config import AgentConfig, load_config
from bench.results import ObjectStore, Row
from bench.spend import OpenPurse
from bench.sweep import Ground, make_arms, open_ground
from tests.tampering import honesty

CHECK = Path(bench.__file__).parent / "starter/project/suites/starter/oracles/check.py"
GIT = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

CASES = {
    "counts are multiplied": [[350, 1], [125, 3], [99, 7]],
    "many lines": [[cents, cents % 11] for cents in range(100, 160, 7)],
    "nothing": [],
}
# An oracle that runs the code under test in its own process: only its token tells whether it came to its end.
INSIDE = """
import json, sys
token = sys.stdin.readline()
sys.path.insert(0, ".")
from shelf import total
for lines, right in json.loads(sys.argv[1]):
    text = json.dumps([{"name": "x", "cents": cents, "count": count} for cents, count in lines])
    assert total(text) == right
print(token)
"""

ARMS: dict[str, dict[str, tuple[str, str, list[str]]]] = {
    "work": {"work": ("work", "prompts/work_without_skill.md", ["**"])},
    "plan_work": {
        "plan": ("plan", "prompts/plan.md", []),
        "work": ("work", "prompts/work_from_plan.md", ["**"]),
    },
    "review": {"review": ("review", "prompts/review_without_skill.md", [])},
}


class Range(Struct, frozen=True, kw_only=True):
    """The ground, opened once, and the store of its cells' artifacts."""

    ground: Ground
    store: ObjectStore

    def measure(
        self, program: Path, *arguments: str, task: str = "tiny", arm: str = "work", **changes: Any
    ) -> Row:
        """The row of one cell in which `program` worked; `changes` are to the configuration."""
        ground = self.ground
        beside = {"source": honesty.__file__, "target": "/opt/agent/tests/tampering/honesty.py"}
        options = {
            "program": str(program),
            "arguments": list(arguments),
            "python": True,
            "mounts": {"a": beside},
        }
        workbench = Workbench(
            config=structs.replace(ground.config, **changes),
            root=ground.root,
            generation=0,
            plan="plan",
            sandbox=ground.sandbox,
            workspaces=ground.workspaces,
            templates=ground.templates,
            environments=ground.environments,
            agent=create_agent(AgentConfig(name="command", options=options), ground.root),
            tasks={each.id: each for each in ground.tasks},
            arms=make_arms(ground, tuple(ARMS), {}),
            store=self.store,
            journal=Journal(ground.scratch.parent / secrets.token_hex(4), "plan"),
            redactor=ground.redactor,
            scratch=ground.scratch,
            harness=ground.harness.digest,
            cpu=ground.cpu,
            purse=OpenPurse(structs.replace(ground.config, **changes).timeout),
        )
        before = set(ground.scratch.iterdir())
        cell = Cell(index=0, task=task, arm=arm, role="comparator", repeat=0)
        with Cancellation() as cancellation:
            row = measure(workbench, Turn(cell=cell, attempt=0), cancellation)
        left = {path.name for path in set(ground.scratch.iterdir()) - before}
        assert left <= {"e", "t"}, "a cell leaves nothing but the templates and environments of all"
        return row


@contextmanager
def open_range(folder: Path) -> Iterator[Range]:
    """The ground of a new project below `folder`."""
    root = write_project(folder)
    overrides = ["suite=tiny", "arms=plain", "agent=command", f"sandbox.scratch={folder}", "timeout=20"]
    overrides.append(f"agent.options.program={honesty.__file__}")
    config, _ = load_config(overrides, root=root, config_dirs=(), command="bench")
    with Cancellation() as cancellation, open_ground(config, root, (), cancellation) as ground:
        yield Range(ground=ground, store=ObjectStore(root / "runs" / "objects"))


def write_project(folder: Path) -> Path:
    """A new project below `folder`, and the repository that its suite is about; the project's root."""
    _write_repository(folder / "repository")
    _write_project(folder / "project")
    return folder / "project"


def _write_repository(folder: Path) -> None:
    for path, content in honesty.REPOSITORY.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "base"],
    ):
        subprocess.run(["git", *arguments], cwd=folder, env=GIT, check=True)


def _write_project(root: Path) -> None:
    suite = root / "suites" / "tiny"
    for each in (suite / "oracles", root / "conf" / "arms", root / "conf" / "suite"):
        each.mkdir(parents=True)
    (root / "evolve.toml").write_text("")
    (root / "conf/suite/tiny.yaml").write_text(
        "# One task.\nname: tiny\npath: suites/tiny\nlearnings: null\nprepare: null\n"
    )
    (root / "conf/arms/plain.yaml").write_text("# Without skills.\n" + yaml.safe_dump(_arms()))
    (suite / "work.md").write_text("`total` forgets how many there are of each thing. Repair it.\n")
    (suite / "oracles/check.py").write_bytes(CHECK.read_bytes())
    (suite / "oracles/cases.toml").write_text(_sealed_cases())
    (suite / "oracles/inside.py").write_text(INSIDE)
    (suite / "right.patch").write_text(_patch(honesty.FIX))
    (suite / "nearly.patch").write_text(_patch("sum(cents * min(count, 2) for"))
    (suite / "suite.yaml").write_text(yaml.safe_dump(_suite()))


def _patch(fix: str) -> str:
    """A git patch that puts `fix` in the place of the bug."""
    path = "shelf/prices.py"
    right = honesty.REPOSITORY[path].replace(honesty.BUG, fix)
    lines = (honesty.REPOSITORY[path].splitlines(keepends=True), right.splitlines(keepends=True))
    changed = "".join(difflib.unified_diff(*lines, f"a/{path}", f"b/{path}"))
    return f"diff --git a/{path} b/{path}\n{changed}"


def _arms() -> dict[str, Any]:
    return {
        name: {
            "role": "comparator",
            "skills": [],
            "family": None,
            "candidate_of": None,
            "tools": {},
            "sessions": {
                session: {"kind": kind, "prompt": prompt, "order": order, "boundary": boundary, "skills": []}
                for order, (session, (kind, prompt, boundary)) in enumerate(sessions.items(), 1)
            },
        }
        for name, sessions in ARMS.items()
    }


def _suite() -> dict[str, Any]:
    cases = [[lines, sum(cents * count for cents, count in lines)] for lines in CASES.values()]
    oracles = {
        "check": ('python3 -I -S -B "$ORACLE/check.py"', ["check.py", "cases.toml"]),
        "inside": (f"python3 -I -S -B \"$ORACLE/inside.py\" '{cases}'", ["inside.py"]),
    }
    verify = "python3 -m unittest"
    tasks = {
        "tiny": ("check", verify),
        "tiny-inside": ("inside", ""),
        "tiny-endless": ("check", "cat /dev/zero | tail -f"),
    }
    return {
        "schema": "suite/1",
        "name": "tiny",
        "tasks": [
            {
                "id": task,
                "class": "investigation-bug",
                "split": "train",
                "source": {"repository": "../../../repository", "ref": "main"},
                "prompt": "work.md",
                "verify": verify,
                "environment": {"python": True},
                "solutions": {"reference": "right.patch", "wrong": ["nearly.patch"]},
                "oracle": {
                    "command": oracles[oracle][0],
                    "files": [{"source": f"oracles/{name}", "target": name} for name in oracles[oracle][1]],
                },
            }
            for task, (oracle, verify) in tasks.items()
        ],
    }


def _sealed_cases() -> str:
    check = _module(CHECK)
    text = 'package = "shelf"\n'
    for number, (says, lines) in enumerate(CASES.items()):
        answer, salt = sum(cents * count for cents, count in lines), f"salt {number}"
        asked = [{"name": "x", "cents": cents, "count": count} for cents, count in lines]
        text += f"""
[[case]]
says = "{says}"
code = '''
import json
from shelf import total
answer = total(json.dumps({asked}))
'''
salt = "{salt}"
digest = "{check.seal(answer, salt)}"
"""
    return text


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

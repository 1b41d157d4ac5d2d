"""A small project of its own: a suite, arms, an agent program, and its cells measured in a real sandbox."""

import hashlib
import json
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from bench.cancellation import Cancellation
from bench.config import load_config
from bench.project import create_run
from bench.results import ObjectStore, Row
from bench.skills import apply_overlay, make_overlay, required_arms
from bench.suite import Task
from bench.sweep import Ground, Sealed, canonical_skills, make_arms, measure_plan, open_ground, seal_plan
from bench.sweep.templates import TaskTemplates
from bench.watch import Event

WORK = "prompts/work_without_skill.md"

# The last act of a hidden test that passed; the token comes first on its stdin.
PASSED = 'echo "$token"'

# An agent: it says that it used its skills, runs `body` with `session` at hand, and ends well.
_AGENT = """\
import json, os, subprocess, sys
session = json.loads(sys.stdin.read())
paths = session["paths"]
def say(**event): print(json.dumps(event), flush=True)
def sh(command): say(type="message", text=subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True).stdout)
for skill in session["skills"]:
    say(type="skill", name=skill["name"], ok=os.path.isfile(skill["path"] + "/SKILL.md"))
{body}
say(type="result", status="completed", message="")
"""


class Silent:
    """A watcher that nobody reads."""

    def see(self, event: Event) -> None: ...

    def close(self) -> None: ...


class CellProject:
    """A project folder for a test to fill. Its suite and its arms are both called `mine`."""

    def __init__(self, root: Path) -> None:
        self.root = root / "project"
        self.scratch = root / "scratch"
        self.scratch.mkdir()
        self.tasks: list[dict[str, Any]] = []
        self.arms: dict[str, dict[str, Any]] = {}
        self.skills: dict[str, str] = {}
        self.write("evolve.toml", "")
        self.write("suites/mine/prompts/do.md", "Do it.\n")
        self.write("suites/mine/oracles/expected", "nothing\n")
        self.write("conf/suite/mine.yaml", "name: mine\npath: suites/mine\nlearnings: null\nprepare: null\n")
        self.agent("")

    def write(self, path: str, content: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        return file

    def tree(self, files: Mapping[str, str]) -> None:
        """The source of the project's tasks."""
        for path, content in files.items():
            self.write(f"suites/mine/tree/{path}", content)

    def task(self, name: str, oracle: str, **changes: Any) -> None:
        """A task whose hidden test is a shell command; it passes if that succeeds."""
        self.tasks.append(
            {
                "id": name,
                "class": "trivial",
                "split": "train",
                "source": {"tree": "tree"},
                "prompt": "prompts/do.md",
                "oracle": {
                    "command": f"read -r token; {{ {oracle}; }} >&2 && {PASSED}",
                    "files": [{"source": "oracles/expected", "target": "expected"}],
                },
                **changes,
            }
        )

    def arm(self, name: str, sessions: Mapping[str, Mapping[str, Any]] | None = None, **changes: Any) -> None:
        """An arm; without `sessions`, of one session that works."""
        plain = {"prompt": WORK, "order": 1, "skills": [], "boundary": ["**"]}
        given = sessions or {"work": {"kind": "work"}}
        self.arms[name] = {
            "role": "incumbent",
            "skills": [],
            "family": None,
            "candidate_of": None,
            "tools": {},
            **changes,
            "sessions": {session: {**plain, **spec} for session, spec in given.items()},
        }

    def skill(self, name: str, text: str, root: str = ".claude/skills") -> None:
        self.skills[name] = root
        self.write(f"{root}/{name}/SKILL.md", skill_text(name, text))

    def agent(self, body: str) -> None:
        """The program that works in the cells, in Python."""
        self.write("agent.py", _AGENT.replace("{body}", body))

    def overrides(self, *more: str) -> list[str]:
        """Everything as files and overrides, ready for the command line or `measure`."""
        suite = {"schema": "suite/1", "name": "mine", "tasks": json.loads(json.dumps(self.tasks))}
        self.write("suites/mine/suite.yaml", yaml.safe_dump(suite, sort_keys=False))
        self.write("conf/arms/mine.yaml", yaml.safe_dump(json.loads(json.dumps(self.arms)), sort_keys=False))
        skills = [f"+skills.{name}={{root: {root}, mirrors: []}}" for name, root in self.skills.items()]
        program = [
            "agent=command",
            f"agent.options.program={self.root / 'agent.py'}",
            "agent.options.python=true",
        ]
        plain = ["suite=mine", "arms=mine", "repeats=1", "retries=0", "workers=1"]
        return [*plain, *program, *skills, f"sandbox.scratch={self.scratch}", *more]

    def measure(self, *more: str, overlay: Mapping[str, bytes] | None = None) -> "Measured":
        """Measure every cell of the suite and the arms; those of candidates with `overlay`."""
        config, _ = load_config(self.overrides(*more), root=self.root, command="bench")
        with Cancellation() as cancellation, open_ground(config, self.root, (), cancellation) as ground:
            made = None if overlay is None else make_overlay(overlay, config.skills)
            selected = required_arms(config.arms, None if made is None else made.touched)
            plan = seal_plan(ground, selected, 0, None if made is None else made.digest)
            canonical = canonical_skills(config, self.root)
            candidates = None if made is None else apply_overlay(canonical, made)
            arms = make_arms(ground, selected, canonical, candidates, None if made is None else made.digest)
            run = create_run(self.root, "0" * 64)
            result = measure_plan(ground, Sealed(plan=plan), arms, run, run.path, Silent(), cancellation)
        return Measured(result.rows, ObjectStore(run.objects))

    def templates(self, *more: str) -> "Opened":
        """Only what builds templates and derives assets, to be used in a `with`."""
        config, _ = load_config(self.overrides(*more), root=self.root, command="bench")
        return Opened(config, self.root)


class Opened:
    """The ground of a project, with its templates and tasks at hand."""

    def __init__(self, config: Any, root: Path) -> None:
        self._cancellation = Cancellation()
        self._open = open_ground(config, root, (), self._cancellation)

    def __enter__(self) -> tuple[TaskTemplates, dict[str, Task], Ground]:
        ground = self._open.__enter__()
        assert isinstance(ground.templates, TaskTemplates)
        return ground.templates, {task.id: task for task in ground.tasks}, ground

    def __exit__(self, *error: object) -> None:
        self._open.__exit__(*error)
        self._cancellation.close()


class Measured:
    """The rows of a run, by task and arm, and what their sessions said."""

    def __init__(self, rows: Sequence[Row], store: ObjectStore) -> None:
        self.rows = {(row.identity.task, row.identity.arm): row for row in rows}
        self._store = store

    def said(self, task: str, arm: str, session: str = "work") -> str:
        """The messages of a session, one after the other."""
        stream = self._store.get(self.rows[task, arm].artifacts[f"transcript-{session}"].digest)
        events = [json.loads(line) for line in stream.splitlines()]
        return "".join(event["text"] for event in events if event["type"] == "message")

    def outcome(self, task: str, arm: str) -> tuple[str, str | None]:
        """The status and kind of a cell; a message for pytest if it was not measured."""
        found = self.rows[task, arm].outcome
        assert found.status == "measured", found
        return found.status, found.kind

    def patch(self, task: str, arm: str) -> str:
        return self._store.get(self.rows[task, arm].artifacts["patch"].digest).decode()


def skill_text(name: str, text: str) -> str:
    return f"---\nname: {name}\ndescription: A skill of a test.\n---\n{text}\n"


def make_wheel(folder: Path, name: str, code: str, requires: Sequence[str] = ()) -> str:
    """A pure wheel with one module and one script, both called `name`; its line in a requirements file."""
    folder.mkdir(exist_ok=True)
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    about = f"{name}-1.0.dist-info"
    metadata = [
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        *(f"Requires-Dist: {each}\n" for each in requires),
    ]
    files = {
        f"{name}.py": code,
        f"{about}/METADATA": "".join(metadata),
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    record = "".join(f"{path},,\n" for path in (*files, f"{about}/RECORD"))
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in {**files, f"{about}/RECORD": record}.items():
            archive.writestr(path, content)
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"

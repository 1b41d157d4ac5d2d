"""An agent that hunts for its exam finds nothing; with one leak opened at a time, the same agent finds each."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct, structs

import bench
from bench.cancellation import Cancellation
from bench.config import load_config
from bench.project import RunFolder, create_run, unpack_starter
from bench.results import ObjectStore
from bench.sandbox import Command, Layout, Mount, ProcessResult, ReadOnly, Sandbox
from bench.suite import Derived, Task
from bench.sweep import Ground, Sealed, canonical_skills, make_arms, measure_plan, open_ground, seal_plan
from bench.watch import Event
from bench.workspace import Template

HUNTER = Path(__file__).parent / "hunter.py"
TASK = "review-expiry-alerts"
GIT = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class Planted(Struct, frozen=True):
    """A project with a canary in everything that an agent must not see, and what each canary is called."""

    root: Path
    canaries: Mapping[str, str]


class Silent:
    """A watcher that nobody reads."""

    def see(self, event: Event) -> None: ...

    def close(self) -> None: ...


def canary(name: str) -> str:
    return f"CANARY-{name}-{secrets.token_hex(4)}"


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Planted]:
    names = ("LABEL", "LATER", "LOOSE", "QUEUE", "STORE", "ENVIRONMENT", "PROCESS", "CELL")
    canaries = {name: canary(name) for name in names}
    root = unpack_starter(tmp_path)
    labels = root / "suites" / "starter" / "labels" / f"{TASK.removeprefix('review-')}.json"
    if not labels.exists():
        labels = next(
            path for path in labels.parent.glob("*.json") if TASK.removeprefix("review-") in path.name
        )
    document = json.loads(labels.read_text())
    document["findings"][0]["id"] = canaries["LABEL"]
    labels.write_text(json.dumps(document))
    queue = root / "learnings" / "starter.jsonl"
    queue.write_text(queue.read_text().replace('"observation": "', f'"observation": "{canaries["QUEUE"]} '))
    (root / "later.py").write_text(f"# {canaries['LATER']}\n")
    for arguments in (["add", "-A"], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "later"]):
        subprocess.run(["git", *arguments], cwd=root, env=GIT, check=True)
    subprocess.run(
        ["git", "hash-object", "-w", "--stdin"],
        cwd=root,
        env=GIT,
        check=True,
        input=canaries["LOOSE"].encode(),
        capture_output=True,
    )
    ObjectStore(root / "runs" / "objects").put(canaries["STORE"].encode())
    monkeypatch.setenv("PLANTED", canaries["ENVIRONMENT"])
    with subprocess.Popen(
        [sys.executable, "-c", "input()", canaries["PROCESS"]], stdin=subprocess.PIPE
    ) as process:
        yield Planted(root, canaries)
        process.kill()


class LeakySandbox:
    """The real sandbox, but for one hole."""

    def __init__(self, real: Sandbox, leak: Callable[[Command], Command]) -> None:
        self._real, self._leak = real, leak
        self.name, self.contains = real.name, real.contains

    def describe(self) -> Mapping[str, str]:
        return self._real.describe()

    def probe(self) -> None:
        self._real.probe()

    def can_layer(self, folder: Path) -> bool:
        return self._real.can_layer(folder)

    def layout(self, cell: Path) -> Layout:
        return self._real.layout(cell)

    def run(self, command: Command, cancellation: Cancellation, observe: Any = None) -> ProcessResult:
        return self._real.run(self._leak(command), cancellation, observe)


class LeakyTemplates:
    """The real templates, but for one thing that was not stripped."""

    def __init__(self, real: Any, leak: Callable[[Path], None]) -> None:
        self._real, self._leak, self._leaked = real, leak, set[Path]()
        self._lock = threading.Lock()

    def build(self, task: Task) -> Template:
        template: Template = self._real.build(task)
        with self._lock:
            if template.tree not in self._leaked:
                self._leaked.add(template.tree)
                self._leak(template.tree)
        return template

    def derive(self, task: Task, asset: Derived) -> Path:
        raise AssertionError("no arm of this test has a derived tool")


def mounting(*mounts: Mount) -> Callable[[Command], Command]:
    return lambda command: structs.replace(command, mounts=(*command.mounts, *mounts))


def hunt(planted: Planted, open_leak: Callable[[Ground], Ground]) -> dict[str, str]:
    """What the hunter says it found: canary → place."""
    overrides = [
        "agent=command",
        f"agent.options.program={HUNTER}",
        "agent.options.python=true",
        f"tasks.id={TASK}",
        f"sandbox.scratch={planted.root.parent}",
    ]
    config, _ = load_config(overrides, root=planted.root, config_dirs=(), command="bench")
    with Cancellation() as cancellation, open_ground(config, planted.root, (), cancellation) as real:
        other = real.scratch / "cother"
        other.mkdir()
        (other / "notes").write_text(planted.canaries["CELL"])
        ground = open_leak(real)
        plan = seal_plan(ground, ("review",), 0, None)
        run: RunFolder = create_run(planted.root, "0" * 64)
        arms = make_arms(ground, ("review",), canonical_skills(config, planted.root))
        result = measure_plan(ground, Sealed(plan=plan), arms, run, run.path, Silent(), cancellation)
        (row,) = result.rows[:1]
        assert row.outcome.status == "measured", row.outcome
        transcript = ObjectStore(run.objects).get(row.artifacts["transcript-review"].digest)
    texts = [
        event["text"]
        for event in map(msgspec.json.decode, transcript.splitlines())
        if event["type"] == "message"
    ]
    return {text.split(" ")[1]: text for text in texts}


def test_a_hunting_agent_finds_nothing(planted: Planted) -> None:
    assert hunt(planted, lambda ground: ground) == {}


def _open(name: str, planted: Planted) -> tuple[Callable[[Ground], Ground], str]:
    """How a leak is opened, and which canary must then be found."""
    root, canaries = planted.root, planted.canaries
    suite = root / "suites"
    package = Path(bench.__file__).parent

    def sandbox(leak: Callable[[Command], Command]) -> Callable[[Ground], Ground]:
        return lambda ground: structs.replace(ground, sandbox=LeakySandbox(ground.sandbox, leak))

    def templates(leak: Callable[[Path], None]) -> Callable[[Ground], Ground]:
        return lambda ground: structs.replace(ground, templates=LeakyTemplates(ground.templates, leak))

    def history(tree: Path) -> None:
        shutil.rmtree(tree / ".git")
        shutil.copytree(root / ".git", tree / ".git")

    def alternates(tree: Path) -> None:
        info = tree / ".git" / "objects" / "info"
        info.mkdir(exist_ok=True)
        (info / "alternates").write_text("/mnt/objects\n")

    leaks: dict[str, tuple[Callable[[Ground], Ground], str]] = {
        "the suite is mounted": (sandbox(mounting(ReadOnly(suite, "/mnt/suite"))), "LABEL"),
        "the project is mounted": (sandbox(mounting(ReadOnly(root, "/mnt/project"))), "QUEUE"),
        "the suite stays in the template": (
            templates(lambda tree: shutil.copytree(suite, tree / "suites") and None),
            "LABEL",
        ),
        "the template keeps its history": (templates(history), "LATER"),
        "the template keeps loose objects": (templates(history), "LOOSE"),
        "the environment is inherited": (
            sandbox(
                lambda command: structs.replace(command, environment={**os.environ, **command.environment})
            ),
            "ENVIRONMENT",
        ),
        "the host's processes are shown": (
            sandbox(mounting(ReadOnly(Path("/proc"), "/mnt/proc"))),
            "PROCESS",
        ),
        "the object store is mounted": (
            sandbox(mounting(ReadOnly(root / "runs" / "objects", "/mnt/store"))),
            "STORE",
        ),
        "the task is told what to find": (
            sandbox(
                lambda command: structs.replace(
                    command, stdin=command.stdin[:-1] + b', "x": "%b"}' % canaries["LABEL"].encode()
                )
            ),
            "LABEL",
        ),
        "the labels lie in the home": (
            sandbox(
                mounting(
                    ReadOnly(next((suite / "starter" / "labels").glob("*expiry*")), "/home/agent/l.json")
                )
            ),
            "LABEL",
        ),
    }
    if name == "another cell is mounted":
        return lambda ground: structs.replace(
            ground,
            sandbox=LeakySandbox(ground.sandbox, mounting(ReadOnly(ground.scratch / "cother", "/mnt/cell"))),
        ), canaries["CELL"]
    if name == "this program is mounted":
        return sandbox(mounting(ReadOnly(package, "/mnt/bench"))), "def score_review("
    if name == "the labelling tool is mounted":
        return sandbox(mounting(ReadOnly(Path(sys.executable), "/opt/ruff"))), "CANARY-RUFF-00000000"
    if name == "the template borrows objects":

        def borrowing(ground: Ground) -> Ground:
            opened = templates(alternates)(ground)
            return sandbox(mounting(ReadOnly(root / ".git" / "objects", "/mnt/objects")))(opened)

        return borrowing, canaries["LATER"]
    opened, found = leaks[name]
    return opened, canaries[found]


LEAKS = (
    "the suite is mounted",
    "the project is mounted",
    "the suite stays in the template",
    "the template keeps its history",
    "the template keeps loose objects",
    "the template borrows objects",
    "the environment is inherited",
    "the host's processes are shown",
    "the object store is mounted",
    "another cell is mounted",
    "the task is told what to find",
    "the labels lie in the home",
    "this program is mounted",
    "the labelling tool is mounted",
)


@pytest.mark.parametrize("leak", LEAKS)
def test_the_same_agent_finds_each_leak(planted: Planted, leak: str) -> None:
    opened, sign = _open(leak, planted)
    assert any(
        found.startswith(sign.removesuffix("(")) or sign.startswith(found) for found in hunt(planted, opened)
    )

"""Small projects to measure: a suite of one task, one arm, and a do-nothing program as the agent."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from bench.cancellation import Cancellation
from bench.config import load_config
from bench.project import create_run
from bench.results import Row
from bench.skills import required_arms
from bench.sweep import Ground, Sealed, make_arms, measure_plan, open_ground, seal_plan
from bench.watch import Event

ROOM = 2 << 30  # bytes
ORACLE = 'read -r token && echo "$token"'
_ARM = """\
bare:
  role: incumbent
  candidate_of: null
  family: null
  skills: []
  tools: {}
  sessions:
    work: {kind: work, prompt: prompts/work_without_skill.md, order: 1, boundary: ["**"], skills: []}
"""


class Quiet:
    """A watcher that nobody listens to."""

    def see(self, event: Event) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Project(Struct, frozen=True):
    """A project folder with its one task; `source` is what the task is about, as suite.yaml says it."""

    root: Path

    @property
    def agent(self) -> Path:
        return self.root / "agent.sh"

    @contextmanager
    def ground(self, *overrides: str) -> Iterator["Prepared"]:
        """The project, opened; its template is built before anything is measured."""
        own = ("agent=command", f"agent.options.program={self.agent}")
        agent = () if any(each.startswith("agent=") for each in overrides) else own
        plain = ("suite=one", "arms=bare", "~skills.code-review", "retries=0", "breaker=1")
        chosen = (*plain, *agent, *overrides)
        config, _ = load_config(chosen, root=self.root, command="bench")
        with Cancellation() as cancellation, open_ground(config, self.root, (), cancellation) as ground:
            ground.templates.build(ground.tasks[0])
            yield Prepared(ground, cancellation)


class Prepared(Struct, frozen=True):
    """An opened project."""

    ground: Ground
    cancellation: Cancellation

    def sweep(self, watcher: Quiet) -> tuple[Row, ...]:
        """Measure every cell of the plan once; RuntimeError unless all of them were measured."""
        ground = self.ground
        selected = required_arms(ground.config.arms, None)
        plan = seal_plan(ground, selected, 0, None)
        run = create_run(ground.root, ground.config.name)
        arms = make_arms(ground, selected, {})
        result = measure_plan(ground, Sealed(plan=plan), arms, run, run.path, watcher, self.cancellation)
        strange = [row.outcome for row in result.rows if row.outcome.status != "measured"]
        if strange or len(result.rows) != len(plan.cells):
            raise RuntimeError(f"the cells were not measured: {strange[:1]}")
        return result.rows


def make_project(root: Path, source: str, work: str = "") -> Project:
    """A project whose agent does `work`, lines of shell, and says that it is done."""
    said = '{"type": "result", "status": "completed", "message": ""}'
    files = {
        "evolve.toml": "",
        "agent.sh": f"#!/bin/sh\n{work}echo '{said}'\n",
        "conf/suite/one.yaml": "name: one\npath: suites/one\nlearnings: null\nprepare: null\n",
        "conf/arms/bare.yaml": _ARM,
        "suites/one/prompt.md": "Do nothing.\n",
        "suites/one/hidden.txt": "hidden\n",
        "suites/one/suite.yaml": _suite(source),
    }
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    (root / "agent.sh").chmod(0o755)
    return Project(root)


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for templates and cells, in memory where there is room. A file system without a journal looks at
    every file that was deleted in the last half minute before it makes one, and that is not to be measured.
    """
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > ROOM
    with tempfile.TemporaryDirectory(prefix="perf-", dir=memory if roomy else None) as folder:
        yield Path(folder)


def one_file(root: Path) -> str:
    """The source of a task on a folder of one file."""
    (root / "tree").mkdir()
    (root / "tree" / "a.txt").write_text("one\n")
    return "{tree: ../../tree}"


def _suite(source: str) -> str:
    return f"""\
schema: suite/1
name: one
tasks:
  - id: one
    class: trivial
    split: train
    source: {source}
    prompt: prompt.md
    oracle: {{command: '{ORACLE}', files: [{{source: hidden.txt, target: hidden.txt}}]}}
"""

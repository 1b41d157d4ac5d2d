"""What the cells of a sweep share, all of it read-only: nothing here changes once the sweep has begun."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from bench.agents import Agent
from bench.arms.journal import CellEnded, SessionEnded
from bench.arms.line import ModelAccess
from bench.arms.live import Unwatched, Watch
from bench.arms.model import Cell
from bench.config import ArmSpec, Config
from bench.environments import EnvironmentSource
from bench.redaction import Redactor
from bench.results import ObjectStore
from bench.sandbox import Sandbox
from bench.skills import Skill
from bench.spend import Purse
from bench.suite import Derived, Task
from bench.workspace import Template, Workspaces


class TemplateSource(Protocol):
    """Where a cell gets its task's template; the first to ask builds it, the others wait."""

    def build(self, task: Task) -> Template: ...

    def derive(self, task: Task, asset: Derived) -> Path: ...


class SessionMemory(Protocol):
    """Where sessions that ended are written down, and from where an earlier process's are taken up."""

    def recall(self, cell: Cell, *, again: bool) -> tuple[SessionEnded, ...]: ...

    def remembers(self, cell: Cell) -> bool: ...

    def write(self, entry: SessionEnded | CellEnded) -> None: ...


class Arm(Struct, frozen=True, kw_only=True):
    """One arm, ready to be measured: its specification, the skills it loads, its prompts' texts by session.

    `tools` is the digest of the files that its tools show, null where there are none; "" is unknown.
    """

    name: str
    spec: ArmSpec
    skills: Mapping[str, Skill]
    prompts: Mapping[str, str]
    overlay: str | None
    tools: str | None = None
    configuration: str


class Workbench(Struct, frozen=True, kw_only=True):
    """The sandbox, the agent, the tasks and arms, and where results go. `harness` digests this program itself.

    `cpu` limits work that keeps a core busy: templates, checks and oracles. `purse` is asked before each session;
    `live` looks at what cells see as it lies in the project. `model` is null where no gateway leads to a model, or
    where nothing is measured.
    """

    config: Config
    root: Path
    generation: int
    plan: str
    sandbox: Sandbox
    workspaces: Workspaces
    templates: TemplateSource
    environments: EnvironmentSource
    agent: Agent
    tasks: Mapping[str, Task]
    arms: Mapping[str, Arm]
    store: ObjectStore
    journal: SessionMemory
    redactor: Redactor
    scratch: Path
    harness: str
    cpu: threading.Semaphore
    purse: Purse
    live: Watch = Unwatched()
    model: ModelAccess | None = None

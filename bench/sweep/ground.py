"""What all generations of a run stand on, opened and checked before anything is measured."""

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct, structs, to_builtins

from bench.agents import Agent, create_agent
from bench.arms import (
    Arm,
    LiveFiles,
    ModelAccess,
    SessionMemory,
    TemplateSource,
    Workbench,
    check_tools,
    read_sessions,
)
from bench.cancellation import Cancellation
from bench.config import ArmSpec, Config, Role, read_prompt
from bench.digest import digest_json
from bench.environments import Environments, EnvironmentSource
from bench.errors import RunError, SandboxUnavailable
from bench.harness import Harness, read_harness
from bench.plan_file import PLAN_VERSION
from bench.project import RUNS, RunFolder
from bench.redaction import Redactor
from bench.results import ObjectStore, RowFile
from bench.sandbox import Sandbox, containment_refusal, open_sandbox
from bench.skills import Skill, read_family, read_skill
from bench.spend import JOURNAL as SPEND
from bench.spend import WORKED, Purse, at_work, read_worked
from bench.suite import Suite, Task, load_suite, select_tasks
from bench.sweep.deadline import deadline
from bench.sweep.generation_files import judge_canaries, write_sealed
from bench.sweep.live_files import shown_files, tools_digest
from bench.sweep.looks import LOOKS, Looks
from bench.sweep.model import Declared, Plan, Proposed, Sealed
from bench.sweep.modelling import check_model, is_local, measured_with, open_model
from bench.sweep.paying import Means, is_paid, open_spending, read_means
from bench.sweep.plan import make_plan
from bench.sweep.scratch import open_scratch
from bench.sweep.standing import read_standing
from bench.sweep.sweep import SweepResult, run_sweep
from bench.sweep.templates import TaskTemplates
from bench.sweep.workshop import Workshop
from bench.watch import Watcher
from bench.workspace import Workspaces, choose_workspaces

CASSETTES = "cassettes"
SYSTEM_TREES = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ssl", "/etc/alternatives")


class Ground(Struct, frozen=True, kw_only=True):
    """A project, its suite, and the machinery that measures it. `skipped` gives a reason for each task left out,
    `began` is the time in ns before anything was hashed.
    """

    config: Config
    root: Path
    prompts: Mapping[str, str]
    suite: Suite
    tasks: tuple[Task, ...]
    skipped: Mapping[str, str]
    agent: Agent
    sandbox: Sandbox
    workspaces: Workspaces
    templates: TemplateSource
    environments: EnvironmentSource
    redactor: Redactor
    scratch: Path
    harness: Harness
    began: int
    cpu: threading.Semaphore
    means: Means

    @property
    def agent_name(self) -> str:
        """The agent as evidence names it: name/version."""
        return f"{self.agent.name}/{self.agent.version}"

    @property
    def measured_model(self) -> str | None:
        """The name under which verdicts say what was measured; null for a model that nobody pinned."""
        model = self.config.model
        if not self.agent.calls_model:
            return self.agent_name
        return f"{model.id} ({model.upstream})" if is_local(model) else model.id

    @property
    def free(self) -> bool:
        """Whether its sessions cost nobody anything: no model is called, or answers come from a file."""
        return not self.agent.calls_model or is_local(self.config.model)

    @contextmanager
    def model(self, record: Path | None) -> Iterator[ModelAccess | None]:
        """The way to the model while the block lasts; what passes is recorded in the folder `record`."""
        with open_model(self.config, self.agent, self.root, self.means.prices, record) as access:
            yield access

    def roles(self, arms: Sequence[str]) -> dict[str, Role]:
        """The roles of these arms, in their order."""
        return {name: self.config.arms[name].role for name in arms}


@contextmanager
def open_ground(
    config: Config,
    root: Path,
    config_dirs: Sequence[Path],
    cancellation: Cancellation,
    run: RunFolder | None = None,
    siblings: Sequence[str] = (),
) -> Iterator[Ground]:
    """Everything that can be checked before a cell is paid has been, once this yields. `run` is one that goes on;
    `siblings` share its budget.
    """
    began = time.time_ns()
    suite = load_suite(config.suite, root)
    selection = select_tasks(suite, config.tasks, include_expensive=config.include_expensive)
    for name, spec in config.arms.items():
        check_tools(name, spec, root)
    agent = create_agent(config.agent, root)
    means = read_means(config, agent, root, config_dirs)
    key = check_model(config, agent, root, means.prices)
    prompts = _prompts(config, root, config_dirs)
    sandbox = _usable_sandbox(config, agent)
    if sandbox.contains:
        _refuse_visible(root, suite.folder, Path(config.sandbox.scratch))
    with (
        deadline(config.budget, cancellation, _worked(config, root, run, siblings)) as ends,
        open_scratch(Path(config.sandbox.scratch)) as scratch,
    ):
        environments = Environments(root, scratch, contained=sandbox.contains)
        environments.check(selection.tasks, config.suite.name)
        workshop = Workshop(
            config=config,
            root=root,
            suite=suite,
            sandbox=sandbox,
            workspaces=choose_workspaces(config.sandbox.workspace, sandbox, scratch),
            environments=environments,
            scratch=scratch,
            cpu=threading.BoundedSemaphore(config.cpu_slots),
            cancellation=cancellation,
        )
        yield Ground(
            config=config,
            root=root,
            prompts=prompts,
            suite=suite,
            tasks=selection.tasks,
            skipped=selection.skipped,
            agent=agent,
            sandbox=sandbox,
            workspaces=workshop.workspaces,
            templates=TaskTemplates(workshop),
            environments=environments,
            redactor=Redactor((key,)),
            scratch=scratch,
            harness=read_harness((("agents", config.agent.name), ("sandboxes", config.sandbox.name))),
            began=began,
            cpu=workshop.cpu,
            means=structs.replace(means, ends=ends, siblings=tuple(siblings)),
        )


def _worked(config: Config, root: Path, run: RunFolder | None, siblings: Sequence[str]) -> float:
    """The seconds that a run and its siblings were at work, where they are limited. RunError if they were not kept."""
    if config.budget.wall is None:
        return 0.0
    folders = [*(root / RUNS / each for each in siblings), *([run.path] if run else [])]
    for folder in folders:
        kept = folder / WORKED
        if (folder / SPEND).exists() and not (kept.exists() and kept.stat().st_size):
            raise RunError(
                f"{kept} is not there, or empty, so that nobody can tell how long the run was at work\n"
                "  restore it from a copy, or start a new run: rows that still hold are reused"
            )
    return sum(map(read_worked, folders))


@contextmanager
def counting_work(ground: Ground, run: RunFolder) -> Iterator[None]:
    """Count the time that the run is at work, where it is limited: also what passed before it had a folder."""
    if ground.config.budget.wall is None:
        yield
        return
    with at_work(run.path, ground.means.ends.began):
        yield


def _prompts(config: Config, root: Path, config_dirs: Sequence[Path]) -> dict[str, str]:
    """The text of every prompt that a session of an arm names."""
    sessions = (spec for arm in config.arms.values() for spec in arm.sessions.values())
    return {spec.prompt: read_prompt(spec.prompt, root, config_dirs) for spec in sessions}


def _refuse_visible(*folders: Path) -> None:
    """SandboxUnavailable for a folder below a system tree that every cell sees: labels and other cells lie there."""
    for folder in folders:
        if any(folder.resolve().is_relative_to(tree) for tree in SYSTEM_TREES):
            raise SandboxUnavailable(
                f"{folder} lies below a folder of the system that every cell can read\n"
                f"  move the project out of {', '.join(SYSTEM_TREES)}, or set sandbox.scratch elsewhere"
            )


def _usable_sandbox(config: Config, agent: Agent) -> Sandbox:
    """The configured sandbox, once a trial command ran in it; SandboxUnavailable says what to change."""
    sandbox = open_sandbox(config.sandbox)
    refusal = containment_refusal(config.sandbox, contains=sandbox.contains, calls_model=agent.calls_model)
    if refusal is not None:
        raise SandboxUnavailable(refusal)
    sandbox.probe()
    return sandbox


def canonical_skills(config: Config, root: Path) -> dict[str, Skill]:
    """The skills that the arms load, as they lie in the project now. SkillError says what is wrong with one."""
    loaded = {skill for arm in config.arms.values() if arm.family is None for skill in arm.skills}
    return {name: read_skill(root / config.skills[name].root, name) for name in sorted(loaded)}


def seal_plan(
    ground: Ground,
    selected: Sequence[str],
    generation: int,
    overlay: str | None,
    proposed: Proposed | None = None,
    looks: Sequence[int] = (),
) -> Plan:
    """The plan of one generation in which every cell is measured; `with_reuse` finds out which need not be. `looks`
    are the numbers of repeats after which its sweep pauses.
    """
    config = ground.config
    why = "nothing was proposed" if overlay is None else "the change touches no skill that it loads"
    left_out = {arm: why for arm in config.arms if arm not in selected}
    frame = Plan(
        schema_version=PLAN_VERSION,
        generation=generation,
        suite=ground.suite.digest,
        overlay=overlay,
        configuration=digest_json(config),
        seed=config.seed,
        declared=declared(ground),
        proposed=proposed,
        arms=(),
        tasks=(),
        cells=(),
        left_out={**left_out, **ground.skipped},
        harness=ground.harness,
    )
    return make_plan(
        config.arms,
        selected,
        ground.tasks,
        repeats=config.repeats,
        deterministic=ground.agent.deterministic,
        frame=frame,
        looks=looks,
    )


def declared(ground: Ground) -> Declared:
    """What only the run itself knows of what it measures with."""
    return Declared(
        suite=ground.suite.name,
        agent=ground.agent_name,
        model=ground.measured_model,
        deterministic=ground.agent.deterministic,
        contained=ground.sandbox.contains,
        critical=tuple(sorted(task.id for task in ground.tasks if task.critical)),
    )


def make_arms(
    ground: Ground,
    selected: Sequence[str],
    incumbents: Mapping[str, Skill],
    candidates: Mapping[str, Skill] | None = None,
    overlay: str | None = None,
) -> dict[str, Arm]:
    """The selected arms with the skills they load: the incumbents, the candidates, or a family of their own."""
    return {
        name: _arm(ground, name, incumbents if candidates is None else candidates, overlay)
        if ground.config.arms[name].role == "candidate"
        else _arm(ground, name, incumbents, None)
        for name in selected
    }


def _arm(ground: Ground, name: str, skills: Mapping[str, Skill], overlay: str | None) -> Arm:
    spec = ground.config.arms[name]
    loaded = _family(ground, spec) if spec.family else {skill: skills[skill] for skill in spec.skills}
    return Arm(
        name=name,
        spec=spec,
        skills=loaded,
        prompts={session: ground.prompts[each.prompt] for session, each in spec.sessions.items()},
        overlay=overlay,
        tools=tools_digest(ground.root, spec),
        configuration=_dependent_configuration(ground.config, spec, ground.root),
    )


def _family(ground: Ground, spec: ArmSpec) -> dict[str, Skill]:
    return dict(read_family(ground.root / str(spec.family), spec.skills))


def _dependent_configuration(config: Config, spec: ArmSpec, root: Path) -> str:
    """Digest of the part of the configuration that a cell's measurement depends on, wherever the project lies."""
    parts = [
        spec,
        config.agent,
        measured_with(config.model, root),
        config.effort,
        config.timeout,
        config.seed,
        config.sandbox.limits,
    ]
    return digest_json(_relative(to_builtins(parts), f"{root}{os.sep}"))


def _relative(value: Any, root: str) -> Any:
    """The value with every path below the root as one that is relative to it."""
    if isinstance(value, str):
        return value.removeprefix(root)
    if isinstance(value, dict):
        return {name: _relative(each, root) for name, each in value.items()}
    return [_relative(each, root) for each in value] if isinstance(value, list) else value


def measure_plan(
    ground: Ground,
    sealed: Sealed,
    arms: Mapping[str, Arm],
    run: RunFolder,
    folder: Path,
    watcher: Watcher,
    cancellation: Cancellation,
) -> SweepResult:
    """Write the sealed plan to `folder`, measure what no earlier row stands for, and leave all rows there."""
    write_sealed(folder, sealed)
    return sweep_on(ground, sealed, arms, run, folder, watcher, cancellation)


def sweep_on(
    ground: Ground,
    sealed: Sealed,
    arms: Mapping[str, Arm],
    run: RunFolder,
    folder: Path,
    watcher: Watcher,
    cancellation: Cancellation,
) -> SweepResult:
    """Measure what is left of a sealed plan: all of it, or what the rows and the journal in `folder` do not hold."""
    paying = is_paid(ground.config, ground.means)
    standing, journal = read_standing(folder, digest_json(sealed.plan), paying=paying)
    paid = (sealed.plan.generation, max(standing.sessions(), len(read_sessions(folder / "journal.jsonl"))))
    spending = open_spending(ground.config, ground.root, ground.means, run, cancellation, paid)
    # also where no cell begins: what reads a sweep finds that it has no row
    (folder / "results.jsonl").touch()
    with (
        closing(journal),
        closing(RowFile(folder / "results.jsonl")) as rows,
        closing(Looks(folder / LOOKS, digest_json(sealed.plan), sealed.rule)) as looks,
        ground.model(folder / CASSETTES) as model,
    ):
        bench = open_workbench(ground, sealed.plan, arms, ObjectStore(run.objects), journal, spending)
        result = run_sweep(
            structs.replace(bench, model=model), sealed, (rows, looks), watcher, cancellation, standing
        )
    judged = judge_canaries(folder, sealed, result, watcher, deterministic=ground.agent.deterministic)
    return structs.replace(judged, account=spending.account())


def open_workbench(
    ground: Ground,
    plan: Plan,
    arms: Mapping[str, Arm],
    store: ObjectStore,
    journal: SessionMemory,
    purse: Purse,
) -> Workbench:
    """What the cells of a plan share; what they leave goes to `store`, their sessions to `journal`, and they are paid
    from `purse`.
    """
    return Workbench(
        config=ground.config,
        root=ground.root,
        generation=plan.generation,
        plan=digest_json(plan),
        sandbox=ground.sandbox,
        workspaces=ground.workspaces,
        templates=ground.templates,
        environments=ground.environments,
        agent=ground.agent,
        tasks={task.id: task for task in ground.tasks},
        arms=arms,
        store=store,
        journal=journal,
        redactor=ground.redactor,
        scratch=ground.scratch,
        harness=ground.harness.digest,
        cpu=ground.cpu,
        purse=purse,
        live=LiveFiles(
            shown_files(ground.config, ground.root, ground.agent, ground.environments, ground.tasks, arms),
            ground.began,
        ),
    )

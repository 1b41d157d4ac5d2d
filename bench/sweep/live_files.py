"""Which files of a project cells see live, and how the digest of each is found out again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from bench.agents import Agent, create_agent
from bench.arms import Arm, Shown
from bench.config import ArmSpec, Config, DerivedTool, ServerTool
from bench.digest import digest_json, digest_tree
from bench.environments import TARGET, EnvironmentSource
from bench.reuse import UNKNOWN
from bench.sandbox import ReadOnly
from bench.suite import Refused, Task, digest_source


def shown_files(
    config: Config,
    root: Path,
    agent: Agent,
    environments: EnvironmentSource,
    tasks: Sequence[Task],
    arms: Mapping[str, Arm],
) -> Callable[[str, str], tuple[Shown, ...]]:
    """What the cells of an arm on a task see: the agent, the arm's tools, the task's dependencies and environment."""
    by_name = {task.id: task for task in tasks}

    def again() -> str:
        return create_agent(config.agent, root).digest

    of_agent = tuple(Shown("the agent", path, agent.digest, again) for path in agent.sources)

    @cache
    def of_environment(task: str) -> tuple[Shown, ...]:
        return tuple(_of_environment(environments, by_name[task]))

    def listed(arm: str, task: str) -> tuple[Shown, ...]:
        tools, dependencies = _of_tools(root, arms[arm]), _of_dependencies(by_name[task])
        return (*of_agent, *tools, *dependencies, *of_environment(task))

    return listed


def tools_digest(root: Path, spec: ArmSpec) -> str | None:
    """Digest of the files that the arm's tools show; null without any, blank where they cannot be told."""
    named = _named_tools(root, spec)
    try:
        return digest_json({name: digest_source(path) for name, path in named.items()}) if named else None
    except (Refused, OSError):
        return UNKNOWN


def _named_tools(root: Path, spec: ArmSpec) -> dict[str, Path]:
    return {
        name: root / (tool.program if isinstance(tool, ServerTool) else tool.source)
        for name, tool in spec.tools.items()
        if not isinstance(tool, DerivedTool)
    }


def _of_tools(root: Path, arm: Arm) -> Iterator[Shown]:
    digest = arm.tools
    if not digest:  # nothing, or what nobody could tell from the beginning
        return
    for name, path in sorted(_named_tools(root, arm.spec).items()):
        yield Shown(f"the tool {name!r} of arm {arm.name}", path, digest, partial(_tools, root, arm.spec))


def _tools(root: Path, spec: ArmSpec) -> str:
    return tools_digest(root, spec) or UNKNOWN


def _of_dependencies(task: Task) -> Iterator[Shown]:
    for asset in task.dependencies:
        what = f"the dependency {asset.target} of task {task.id}"
        yield Shown(what, asset.source, asset.digest, partial(digest_source, asset.source))


def _of_environment(environments: EnvironmentSource, task: Task) -> Iterator[Shown]:
    """A prepared environment, which is known by what it was made from: its content counts from its first use."""
    if task.environment.requirements is None:
        return
    for mount in environments.open(task.environment).mounts:
        if isinstance(mount, ReadOnly) and mount.target == TARGET:
            content = partial(digest_tree, mount.source)
            yield Shown(f"the environment of task {task.id}", mount.source, content(), content)

"""The tools of an arm, opened for one session: what is mounted, and what the agent is told of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from bench.agents import ToolPlace, interpreter
from bench.arms.workbench import Arm, Workbench
from bench.config import ArmSpec, DerivedTool, FolderTool, ServerTool, Tool
from bench.errors import ConfigError
from bench.sandbox import Layout, Mount, ReadOnly
from bench.suite import Derived, Task

ToolKind = Literal["folder", "derived"]


class OpenedTool(Struct, frozen=True):
    """A tool as a session finds it."""

    place: ToolPlace
    mounts: tuple[Mount, ...]


def open_tools(bench: Workbench, arm: Arm, task: Task, layout: Layout) -> tuple[OpenedTool, ...]:
    """The arm's tools by name. A derived one is left out for a task that declares no such asset."""
    return tuple(_opened(bench, arm, task, layout))


def derived_assets(arm: Arm, task: Task) -> tuple[Derived, ...]:
    """The assets of a task that sessions of the arm are shown."""
    return tuple(asset for tool in arm.spec.tools.values() for asset in _assets_of(tool, task))


def check_tools(arm: str, spec: ArmSpec, root: Path) -> None:
    """ConfigError, before anything is measured, for a tool whose file or folder is not there."""
    for name, tool in spec.tools.items():
        source = tool.source if isinstance(tool, FolderTool) else getattr(tool, "program", None)
        if source is not None and not (root / source).exists():
            raise ConfigError(
                f"tool {name!r} of arm {arm} names {root / source}, which does not exist\n  see arms.{arm}.tools"
            )


def _opened(bench: Workbench, arm: Arm, task: Task, layout: Layout) -> Iterator[OpenedTool]:
    for name, tool in sorted(arm.spec.tools.items()):
        match tool:
            case FolderTool():
                yield _folder(name, bench.root / tool.source, tool.target, layout)
            case ServerTool():
                yield _server(name, bench.root / tool.program, tool, layout)
            case DerivedTool():
                for asset in _assets_of(tool, task):
                    made = bench.templates.derive(task, asset)
                    yield _folder(name, made, asset.target, layout, kind="derived")


def _assets_of(tool: Tool, task: Task) -> tuple[Derived, ...]:
    """The task's asset that the tool names, if the task declares it."""
    return tuple(
        asset for asset in task.derived if isinstance(tool, DerivedTool) and asset.name == tool.asset
    )


def _folder(name: str, source: Path, target: str, layout: Layout, kind: ToolKind = "folder") -> OpenedTool:
    return OpenedTool(
        place=ToolPlace(name=name, kind=kind, path=layout.seen(source, target)),
        mounts=(ReadOnly(source, target),),
    )


def _server(name: str, program: Path, tool: ServerTool, layout: Layout) -> OpenedTool:
    """An MCP server that the agent starts itself, in its own sandbox, by exactly this command."""
    python, mounts = interpreter(layout) if tool.python else ("", ())
    start = (python, "-I", "-S") if tool.python else ()
    command = (*start, layout.seen(program, tool.target), *tool.arguments)
    return OpenedTool(
        place=ToolPlace(name=name, kind="mcp", command=command),
        mounts=(*mounts, ReadOnly(program, tool.target)),
    )

"""One session of an agent in a cell: started, watched, read."""

import os
import re
import secrets
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, structs

from bench.agents import Agent, SessionCommand, SessionRequest, SkillPlace
from bench.arms.model import LARGEST_ARTIFACT, Session
from bench.arms.places import Place
from bench.arms.tools import OpenedTool, open_tools
from bench.arms.workbench import Arm, Workbench
from bench.cancellation import Cancellation
from bench.config import Config, SessionSpec
from bench.environments import SYSTEM_PATH, EnvironmentSource, OpenedEnvironment
from bench.gateway import Way
from bench.measured import End
from bench.sandbox import Command, Layout, Limits, Mount, ReadOnly, Writable
from bench.scoring import CheckPlace
from bench.suite import Asset, Task

MEGABYTE = 1024 * 1024
TRANSCRIPT_BYTES = 4 * MEGABYTE
PLAN_TARGET = "/plan/plan.md"
# Process 1 is the sandbox's own. One that is about to end, as helpers of an agent are, gets half a second for it.
_COUNTING = """
"$@"
code=$?
for pause in 0.1 0.1 0.1 0.1 0.1 ""; do
  others=0
  for place in /proc/[0-9]*; do
    case $place in /proc/1 | /proc/$$) continue ;; esac
    { read -r status < "$place/stat"; } 2> /dev/null || continue
    case ${status##*") "} in Z* | X*) ;; *) others=$((others + 1)) ;; esac
  done
  [ "$others" -gt 0 ] && [ "$pause" ] || break
  sleep "$pause"
done
echo "processes: $others" >&2
exit "$code"
"""
_SURVIVORS = re.compile(rb"^processes: (\d{1,6})$", re.MULTILINE)
ARTIFACT_NAMES = {"review": "review.json", "plan": "plan.md", "work": "notes.md"}


class Grant(Struct, frozen=True, kw_only=True):
    """What a session gets: the seconds that it may take, and the way to its model, if it calls one; `limit` tells the
    gateway how many answers it may have there.
    """

    seconds: float
    way: Way | None = None
    limit: Callable[[int], None] | None = None

    @property
    def prefix(self) -> tuple[str, ...]:
        """What goes before the agent's command line."""
        return self.way.prefix if self.way else ()


def run_session(
    bench: Workbench,
    arm: Arm,
    task: Task,
    place: Place,
    session: tuple[str, SessionSpec],
    grant: Grant,
    cancellation: Cancellation,
) -> Session:
    """Run one session to its end, whatever that is; SandboxError if it could not be confined."""
    name, spec = session
    tools = open_tools(bench, arm, task, place.layout)
    opened = bench.environments.open(task.environment)
    request = structs.replace(_request(bench, arm, task, place, session, tools), way=grant.way)
    started = start_of(bench.agent, request, place.folder, place.layout, grant)
    parser = bench.agent.parser(request)
    argv = (*grant.prefix, *started.argv)
    result = bench.sandbox.run(
        Command(
            argv=counting(argv) if place.layout.contained and spec.kind == "work" else argv,
            stdin=started.stdin,
            directory=place.layout.workspace,
            environment=environment_of(place.layout, opened, started),
            mounts=(
                *_mounts(bench, arm, task, place, spec),
                *opened.mounts,
                *(mount for tool in tools for mount in tool.mounts),
                *started.mounts,
                *(grant.way.mounts if grant.way else ()),
            ),
            seconds=grant.seconds,
            limits=limits_of(bench.config),
            keep=TRANSCRIPT_BYTES // 2,
            stop=started.stop,
        ),
        cancellation,
        parser.feed,
    )
    report = parser.close(result.code if result.end is End.EXITED else None)
    left = read_artifact(place.folder / "output" / ARTIFACT_NAMES[spec.kind])
    return Session(
        name=name,
        result=result,
        report=report,
        artifact=left,
        survivors=survivors(result.stderr.head + result.stderr.tail),
    )


def start_of(
    agent: Agent, request: SessionRequest, folder: Path, layout: Layout, grant: Grant
) -> SessionCommand:
    """How the agent is started in a folder: its home is written there, its turns are limited where it cannot do so."""
    started = agent.command(request, layout)
    if started.turns is not None and grant.limit is not None:
        grant.limit(started.turns)
    _write_home(folder / "home", started.home)
    return started


def environment_of(layout: Layout, opened: OpenedEnvironment, started: SessionCommand) -> dict[str, str]:
    """What every command gets, and what the agent needs beside it."""
    variables = confined_environment(layout, opened)
    search = ":".join((*started.search, variables["PATH"]))
    return {**variables, "PATH": search, **started.environment}


def _write_home(home: Path, files: Mapping[str, bytes]) -> None:
    """Put the files that an agent's home begins with into it."""
    for name, content in files.items():
        path = home / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(content)


def counting(argv: tuple[str, ...]) -> tuple[str, ...]:
    """A command that says at its end how many other processes its sandbox still holds: they are killed with it,
    and a background writer is a sign of tampering.
    """
    return ("/bin/sh", "-c", _COUNTING, "session", *argv)


def survivors(stderr: bytes) -> int:
    """The number that `counting` printed last, 0 where there is none."""
    found = _SURVIVORS.findall(stderr)
    return int(found[-1]) if found else 0


def _request(
    bench: Workbench,
    arm: Arm,
    task: Task,
    place: Place,
    session: tuple[str, SessionSpec],
    tools: tuple[OpenedTool, ...],
) -> SessionRequest:
    name, spec = session
    root = f"{place.layout.workspace}/{bench.agent.skill_root}"
    return SessionRequest(
        name=name,
        kind=spec.kind,
        prompt=_prompt(arm.prompts[name], task),
        artifact=f"{place.layout.output}/{ARTIFACT_NAMES[spec.kind]}",
        skills=tuple(SkillPlace(skill, f"{root}/{skill}") for skill in session_skills(arm, spec)),
        tools=tuple(tool.place for tool in tools),
        plan=place.layout.seen(place.plan, PLAN_TARGET) if place.plan else None,
        effort=bench.config.effort,
        model=bench.config.model.id,
        seed=bench.config.seed,
        served=bench.config.model,
    )


def _mounts(bench: Workbench, arm: Arm, task: Task, place: Place, spec: SessionSpec) -> tuple[Mount, ...]:
    """The working copy (read-only for a review), a home and an output folder, the skills, what the task needs."""
    workspace, writable = place.layout.workspace, spec.kind != "review"
    return (
        place.copy.live(workspace, writable=writable),
        Writable(place.folder / "home", place.layout.home),
        Writable(place.folder / "output", place.layout.output),
        *(_skill_mounts(bench, arm, place) if writable else ()),
        *((ReadOnly(place.plan, PLAN_TARGET),) if place.plan else ()),
        *dependency_mounts(task.dependencies, workspace),
    )


def _prompt(how: str, task: Task) -> str:
    """How the arm works, what the task is, and the check that an agent may run itself."""
    check = f"\nThe result is checked with:\n\n    {task.verify}\n" if task.verify else ""
    return f"{how.rstrip()}\n\n{task.prompt.strip()}\n{check}"


def session_skills(arm: Arm, spec: SessionSpec) -> tuple[str, ...]:
    """The skills that a session must use: those that it names, or all of its arm's."""
    return tuple(sorted(spec.skills or arm.skills))


def _skill_mounts(bench: Workbench, arm: Arm, place: Place) -> tuple[Mount, ...]:
    """The skills once more, read-only over their place in a writable working copy."""
    root = f"{place.layout.workspace}/{bench.agent.skill_root}"
    return tuple(ReadOnly(place.folder / "skills" / name, f"{root}/{name}") for name in sorted(arm.skills))


def dependency_mounts(dependencies: tuple[Asset, ...], workspace: str) -> tuple[Mount, ...]:
    """A task's read-only dependency trees; a relative target lies in the working copy."""
    return tuple(
        ReadOnly(each.source, each.target if each.target.startswith("/") else f"{workspace}/{each.target}")
        for each in dependencies
    )


def confined_environment(layout: Layout, opened: OpenedEnvironment) -> dict[str, str]:
    """The whole environment of a confined command: nothing is inherited."""
    plain = {
        "HOME": layout.home,
        "TMPDIR": layout.temporary,
        "PATH": SYSTEM_PATH,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
    return plain | dict(opened.variables)


def limits_of(config: Config) -> Limits:
    """The configured limits of one process tree, in the sandbox's units."""
    configured = config.sandbox.limits
    return Limits(
        memory=None if configured.memory_mb is None else configured.memory_mb * MEGABYTE,
        processes=configured.processes,
        file_size=None if configured.file_mb is None else configured.file_mb * MEGABYTE,
        open_files=configured.open_files,
    )


def read_artifact(path: str | Path, most: int = LARGEST_ARTIFACT) -> bytes | None:
    """The bytes of what an agent left, at most one over `most`; None for anything but a regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most + 1)


def check_place(
    config: Config, environments: EnvironmentSource, task: Task, place: Place, copy: Mount
) -> CheckPlace:
    """Where a check of a cell runs: in `copy`, a view of what the sessions left."""
    opened = environments.open(task.environment)
    return CheckPlace(
        folder=place.folder,
        layout=place.layout,
        copy=copy,
        mounts=(*dependency_mounts(task.dependencies, place.layout.workspace), *opened.mounts),
        environment=confined_environment(place.layout, opened),
        limits=limits_of(config),
        seconds=config.timeout,
        token=secrets.token_hex(8),
    )

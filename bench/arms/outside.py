"""One session outside of any cell: the same sandbox, agents and way to a model, but no task and no arm."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bench.agents import Agent, SessionRequest
from bench.arms.line import ModelAccess, Owner, open_line
from bench.arms.model import Session
from bench.arms.session import (
    TRANSCRIPT_BYTES,
    Grant,
    environment_of,
    limits_of,
    read_artifact,
    start_of,
)
from bench.cancellation import Cancellation
from bench.config import Config
from bench.environments import OpenedEnvironment
from bench.measured import End
from bench.sandbox import Command, Layout, Mount, ReadOnly, Sandbox, Writable
from bench.spend import Allowance

OUTPUT = "output"
_FOLDERS = ("workspace", "home", OUTPUT, "temporary")


class Errand(Struct, frozen=True, kw_only=True):
    """What a session is asked outside of any cell. `shown` are the folders of its working folder that it finds, each
    with its files by path, read-only. In the prompt, <output> stands for the folder that it may leave files in;
    `artifact` is the name of the file there that is read.
    """

    name: str
    prompt: str
    shown: Mapping[str, Mapping[str, bytes]]
    artifact: str


class Crew(Struct, frozen=True, kw_only=True):
    """Who goes on errands: an agent as configured, in a sandbox."""

    config: Config
    agent: Agent
    sandbox: Sandbox


def run_outside(
    crew: Crew,
    errand: Errand,
    folder: Path,
    access: ModelAccess | None,
    allowance: Allowance,
    cancellation: Cancellation,
) -> tuple[Session, bytes]:
    """Run the session in an empty folder of its own, to its end, whatever that is; and the log of its requests.
    SandboxError if it could not be confined.
    """
    layout = crew.sandbox.layout(folder)
    _furnish(folder, errand)
    if access is None:
        return _session(crew, errand, folder, layout, Grant(seconds=allowance.seconds), cancellation), b""
    owner = Owner(cell=allowance.reserved.session.arm, task="", session=errand.name)
    with open_line(access, owner, folder, layout, allowance.ceiling) as line:
        grant = Grant(seconds=allowance.seconds, way=line.way, limit=line.limit)
        ran = _session(crew, errand, folder, layout, grant, cancellation)
    return line.measured(ran)


def _furnish(folder: Path, errand: Errand) -> None:
    for name in _FOLDERS:
        (folder / name).mkdir(mode=0o700)
    for place, files in errand.shown.items():
        (folder / "workspace" / place).mkdir()
        for path, content in files.items():
            file = folder / "workspace" / place / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def _session(
    crew: Crew, errand: Errand, folder: Path, layout: Layout, grant: Grant, cancellation: Cancellation
) -> Session:
    request = _request(crew, errand, layout, grant)
    started = start_of(crew.agent, request, folder, layout, grant)
    parser = crew.agent.parser(request)
    result = crew.sandbox.run(
        Command(
            argv=(*grant.prefix, *started.argv),
            stdin=started.stdin,
            directory=layout.workspace,
            environment=environment_of(layout, OpenedEnvironment(), started),
            mounts=(
                *_mounts(folder, layout, errand),
                *started.mounts,
                *(grant.way.mounts if grant.way else ()),
            ),
            seconds=grant.seconds,
            limits=limits_of(crew.config),
            keep=TRANSCRIPT_BYTES // 2,
            stop=started.stop,
        ),
        cancellation,
        parser.feed,
    )
    report = parser.close(result.code if result.end is End.EXITED else None)
    left = read_artifact(folder / OUTPUT / errand.artifact)
    return Session(name=errand.name, result=result, report=report, artifact=left)


def _request(crew: Crew, errand: Errand, layout: Layout, grant: Grant) -> SessionRequest:
    return SessionRequest(
        name=errand.name,
        kind="work",
        prompt=errand.prompt.replace("<output>", layout.output),
        artifact=f"{layout.output}/{errand.artifact}",
        skills=(),
        effort=crew.config.effort,
        model=crew.config.model.id,
        seed=crew.config.seed,
        way=grant.way,
        served=crew.config.model,
    )


def _mounts(folder: Path, layout: Layout, errand: Errand) -> tuple[Mount, ...]:
    workspace = folder / "workspace"
    return (
        Writable(workspace, layout.workspace),
        *(ReadOnly(workspace / place, f"{layout.workspace}/{place}") for place in sorted(errand.shown)),
        Writable(folder / "home", layout.home),
        Writable(folder / OUTPUT, layout.output),
    )

"""One session of an agent in a cell: started, watched, read."""

import os
import secrets
import stat
from pathlib import Path

from msgspec import Struct

from bench.agents import SessionCommand, SessionReport, SessionRequest, SkillPlace
from bench.arms.workbench import Arm, Workbench
from bench.cancellation import Cancellation
from bench.config import Config, SessionSpec
from bench.sandbox import Command, End, Layout, Limits, Mount, ProcessResult, ReadOnly, Writable
from bench.scoring import CheckPlace
from bench.suite import Asset, Task
from bench.workspace import WorkingCopy

MEGABYTE = 1024 * 1024
LARGEST_ARTIFACT = 256 * 1024
TRANSCRIPT_BYTES = 4 * MEGABYTE
ARTIFACT_NAMES = {"review": "review.json", "plan": "plan.md", "work": "notes.md"}


class Session(Struct, frozen=True, kw_only=True):
    """What one session left: how its process ended, what its stream says, and its artifact's bytes, if any."""

    name: str
    result: ProcessResult
    report: SessionReport
    artifact: bytes | None


class Place(Struct, frozen=True):
    """Where a cell works: its folder on the host, how the sandbox shows it, and its working copy."""

    folder: Path
    layout: Layout
    copy: WorkingCopy


def run_session(
    bench: Workbench,
    arm: Arm,
    task: Task,
    place: Place,
    session: tuple[str, SessionSpec],
    cancellation: Cancellation,
) -> Session:
    """Run one session to its end, whatever that is; SandboxError if it could not be confined."""
    name, spec = session
    artifact = f"{place.layout.output}/{ARTIFACT_NAMES[spec.kind]}"
    started = bench.agent.command(_request(bench, arm, task, place, session, artifact), place.layout)
    parser = bench.agent.parser()
    result = bench.sandbox.run(
        Command(
            argv=started.argv,
            stdin=started.stdin,
            directory=place.layout.workspace,
            environment=confined_environment(place.layout) | dict(started.environment),
            mounts=_mounts(bench, arm, task, place, spec, started),
            seconds=bench.config.timeout,
            limits=limits_of(bench.config),
            keep=TRANSCRIPT_BYTES // 2,
        ),
        cancellation,
        parser.feed,
    )
    report = parser.close(result.code if result.end is End.EXITED else None)
    left = read_artifact(place.folder / "output" / ARTIFACT_NAMES[spec.kind])
    return Session(name=name, result=result, report=report, artifact=left)


def _request(
    bench: Workbench, arm: Arm, task: Task, place: Place, session: tuple[str, SessionSpec], artifact: str
) -> SessionRequest:
    name, spec = session
    root = f"{place.layout.workspace}/{bench.agent.skill_root}"
    return SessionRequest(
        name=name,
        kind=spec.kind,
        prompt=f"{arm.prompts[name].rstrip()}\n\n{task.prompt.strip()}\n",
        artifact=artifact,
        skills=tuple(SkillPlace(skill, f"{root}/{skill}") for skill in sorted(arm.skills)),
        effort=bench.config.effort,
        model=bench.config.model.id,
        seed=bench.config.seed,
    )


def _mounts(
    bench: Workbench, arm: Arm, task: Task, place: Place, spec: SessionSpec, started: SessionCommand
) -> tuple[Mount, ...]:
    """The working copy (read-only for a review), a home and an output folder, the skills, what the agent needs."""
    workspace, writable = place.layout.workspace, spec.kind != "review"
    return (
        place.copy.live(workspace, writable=writable),
        Writable(place.folder / "home", place.layout.home),
        Writable(place.folder / "output", place.layout.output),
        *(_skill_mounts(bench, arm, place) if writable else ()),
        *dependency_mounts(task.dependencies, workspace),
        *started.mounts,
    )


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


def confined_environment(layout: Layout) -> dict[str, str]:
    """The whole environment of a confined command: nothing is inherited."""
    return {
        "HOME": layout.home,
        "TMPDIR": layout.temporary,
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }


def limits_of(config: Config) -> Limits:
    """The configured limits of one process tree, in the sandbox's units."""
    configured = config.sandbox.limits
    return Limits(
        memory=None if configured.memory_mb is None else configured.memory_mb * MEGABYTE,
        processes=configured.processes,
        file_size=None if configured.file_mb is None else configured.file_mb * MEGABYTE,
        open_files=configured.open_files,
    )


def read_artifact(path: Path) -> bytes | None:
    """The bytes of what an agent left, at most one over the limit; None for anything but a regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return file.read(LARGEST_ARTIFACT + 1)


def check_place(bench: Workbench, task: Task, place: Place) -> CheckPlace:
    """Where the checks of a cell run: on a throw-away layer above what the sessions left."""
    return CheckPlace(
        folder=place.folder,
        layout=place.layout,
        copy=place.copy.throwaway(place.layout.workspace),
        mounts=dependency_mounts(task.dependencies, place.layout.workspace),
        environment=confined_environment(place.layout),
        limits=limits_of(bench.config),
        seconds=bench.config.timeout,
        token=secrets.token_hex(8),
    )

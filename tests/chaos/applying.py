"""A promotion that is killed while it is applied: the skill is whole, and what was said about it leads to its end."""

import re
import signal
import subprocess
from collections.abc import Iterator

from tests.chaos.case import NEVER, Case, Point
from tests.chaos.remains import Remains, left_behind, verdict


def apply_faults(case: Case, point: Point) -> Iterator[str]:
    """What is wrong after `evolve apply` was killed at this point, was called again, and did as it was told."""
    project = case.project
    done = case.evolve(NEVER, *project.words)
    skill = project.root / ".claude/skills/craft/SKILL.md"
    new = project.root / "proposed/.claude/skills/craft/SKILL.md"
    contents, decided, rows = (
        {skill.read_bytes(), new.read_bytes()},
        verdict(project.run),
        Remains.of(project.run),
    )
    done = case.evolve(point, "apply", project.run.name)
    if done.returncode != -signal.SIGKILL:
        yield f"not killed at {point}: {done.returncode} {done.stderr[-2000:]}"
        return
    case.kills.append(point)
    if skill.read_bytes() not in contents:
        yield "the skill is torn"
    done = case.evolve(NEVER, "apply", project.run.name)
    if done.returncode:
        follow(case, done.stderr)
        done = case.evolve(NEVER, "apply", project.run.name)
    if done.returncode or skill.read_bytes() != new.read_bytes():
        yield f"it is not applied: {done.returncode} {done.stderr[-2000:]}"
    if (verdict(project.run), Remains.of(project.run)) != (decided, rows):
        yield "the run is another one"
    done = case.evolve(NEVER, "resume", project.run.name)
    if done.returncode or verdict(project.run) != decided:
        yield f"a run that ended and was applied has no end: {done.returncode} {done.stderr[-2000:]}"
    yield from left_behind(project.folder, project.scratch, case.temporary)


def follow(case: Case, message: str) -> None:
    """Type the commands of a message that lead on to the new skill."""
    block = re.search(r"(?:^    (?:mv|rm) .*\n?)+", message, re.MULTILINE)
    if block is not None:
        subprocess.run(["sh", "-e"], input=block[0], cwd=case.project.root, text=True, check=True)

"""Tries solutions on tasks: each try is a cell like any other, with a program that carries the solution out."""

import itertools
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, json, structs

from bench.agents import create_agent
from bench.arms import Cell, CellEnded, SessionEnded, Turn, Workbench, measure
from bench.cancellation import Cancellation
from bench.certificate import judging
from bench.certificate.model import Attempt, Solution, TaskCertificate, Tried
from bench.certificate.reviews import missing_places, review_solutions
from bench.certificate.solutions import work_solutions
from bench.config import AgentConfig, ArmSpec, BudgetConfig, Config, ModelConfig, SessionSpec
from bench.digest import digest_json
from bench.results import ObjectStore, Row
from bench.spend import OpenPurse
from bench.suite import LabelOracle, Task, task_digest
from bench.sweep import Ground, make_arms
from bench.workspace import Template

PROGRAM = Path(__file__).with_name("program.py")
LONGEST_DETAIL = 500
_REPEATED = ("reference", "untouched")
_LEAST_SECONDS, _SLOWER = 30.0, 10.0
_SESSIONS = (
    SessionSpec(kind="work", prompt="prompts/work_without_skill.md", boundary=("**",)),
    SessionSpec(kind="review", prompt="prompts/review_without_skill.md"),
)
_ARMS: Mapping[str, ArmSpec] = {
    spec.kind: ArmSpec(role="comparator", sessions={spec.kind: spec}) for spec in _SESSIONS
}


class NoMemory:
    """Sessions that are not written down: a certificate is made anew."""

    def recall(self, cell: Cell, *, again: bool) -> tuple[SessionEnded, ...]:  # noqa: ARG002 - the protocol
        """Nothing is known of any cell."""
        return ()

    def remembers(self, cell: Cell) -> bool:  # noqa: ARG002 - the protocol
        """Nothing is known of any cell."""
        return False

    def write(self, entry: SessionEnded | CellEnded) -> None:
        """Nothing is kept."""


class Bench(Struct, frozen=True):
    """What all tries share, and the numbers that keep their cells apart."""

    workbench: Workbench
    ground: Ground
    runs: int
    numbers: "itertools.count[int]"


def trying(config: Config) -> Config:
    """The configuration in which solutions are tried: one arm for each kind of task, nobody's model, no budget."""
    return structs.replace(
        config,
        agent=AgentConfig(name="command", options={"program": str(PROGRAM), "python": True}),
        model=ModelConfig(name="none", id=None),
        arms=dict(_ARMS),
        budget=BudgetConfig(),
        effort=None,
        include_expensive=True,
    )


def open_bench(ground: Ground, runs: int) -> Bench:
    """What the tries share; nothing of it outlives the ground's scratch folder."""
    workbench = Workbench(
        config=ground.config,
        root=ground.root,
        generation=0,
        plan="validate",
        sandbox=ground.sandbox,
        workspaces=ground.workspaces,
        templates=ground.templates,
        environments=ground.environments,
        agent=ground.agent,
        tasks={task.id: task for task in ground.tasks},
        arms=make_arms(ground, tuple(_ARMS), {}),
        store=ObjectStore(ground.scratch / "objects"),
        journal=NoMemory(),
        redactor=ground.redactor,
        scratch=ground.scratch,
        harness=ground.harness.digest,
        cpu=ground.cpu,
        purse=OpenPurse(ground.config.timeout),
    )
    return Bench(workbench, ground, runs, itertools.count())


def certify_task(bench: Bench, task: Task, cancellation: Cancellation) -> TaskCertificate:
    """Try every solution of a task. WorkspaceError if its starting state cannot be made."""
    template = bench.workbench.templates.build(task)
    attempts: list[Attempt] = []
    extra: tuple[str, ...] = ()
    if isinstance(task.oracle, LabelOracle):
        lengths = {path: _lines(template.tree / path) for path in _files(template)}
        solutions = review_solutions(task.oracle.labels, lengths)
        extra = missing_places(task.oracle.labels, lengths)
    else:
        solutions = work_solutions(task, _files(template))
    seconds = bench.ground.config.timeout
    for solution in solutions:
        runs = bench.runs if solution.worth in _REPEATED else 1
        tries = tuple(_try(bench, task, solution, seconds, cancellation) for _ in range(runs))
        attempts.append(Attempt(solution=solution.name, worth=solution.worth, tries=tries))
        if solution.worth == "reference":  # what is wrong may never end
            slowest = max(each.seconds for each in tries)
            seconds = min(seconds, max(_LEAST_SECONDS, _SLOWER * slowest))
    return judged(task, attempts, extra)


def judged(task: Task, attempts: Sequence[Attempt], extra: Sequence[str] = ()) -> TaskCertificate:
    """The certificate that these tries make; `extra` are problems that were found without any."""
    found = (*extra, *judging.problems(attempts))
    return TaskCertificate(
        task=task.id,
        class_=task.class_,
        digest=task_digest(task),
        solutions=solutions_digest(task),
        certified=not found,
        flaky=any(map(judging.is_flaky, attempts)),
        seconds=round(sum(tried.seconds for each in attempts for tried in each.tries), 3),
        problems=found,
        notes=judging.notes(attempts),
        attempts=tuple(attempts),
    )


def solutions_digest(task: Task) -> str:
    """Digest over the known solutions of a task."""
    return digest_json([each.hex() for each in task.solutions.contents])


def _try(bench: Bench, task: Task, solution: Solution, seconds: float, cancellation: Cancellation) -> Tried:
    with tempfile.TemporaryDirectory(prefix="s", dir=bench.ground.scratch) as folder:
        _stage(Path(folder), solution)
        options = {
            "program": str(PROGRAM),
            "python": True,
            "mounts": {"solution": {"source": folder, "target": "/opt/solution"}},
        }
        workbench = structs.replace(
            bench.workbench,
            config=structs.replace(bench.workbench.config, timeout=seconds),
            agent=create_agent(AgentConfig(name="command", options=options), bench.ground.root),
            purse=OpenPurse(seconds),
        )
        number = next(bench.numbers)
        arm = "review" if task.is_review else "work"
        cell = Cell(index=number, task=task.id, arm=arm, role="comparator", repeat=number)
        return _tried(measure(workbench, Turn(cell=cell, attempt=0), cancellation))


def _tried(row: Row) -> Tried:
    outcome = row.outcome
    return Tried(
        status=outcome.status,
        kind=outcome.kind,
        resolved=outcome.resolved,
        seconds=round(row.timings.total, 3),
        detail=outcome.detail[:LONGEST_DETAIL],
    )


def _stage(folder: Path, solution: Solution) -> None:
    folder.chmod(0o755)
    (folder / "steps.json").write_bytes(json.encode(solution.steps))
    for name, content in solution.files.items():
        (folder / name).write_bytes(content)


def _files(template: Template) -> list[str]:
    """The regular files of the starting state, in order."""
    return sorted(_walk(template.tree))


def _walk(tree: Path) -> Iterator[str]:
    for parent, folders, names in os.walk(tree):
        if Path(parent) == tree and ".git" in folders:
            folders.remove(".git")
        for name in names:
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink() and _is_text(path.relative_to(tree)):
                yield path.relative_to(tree).as_posix()


def _is_text(path: Path) -> bool:
    """Whether a path can be written in a step."""
    try:
        os.fsencode(path).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _lines(path: Path) -> int:
    content = path.read_bytes()
    return content.count(b"\n") + (bool(content) and not content.endswith(b"\n"))

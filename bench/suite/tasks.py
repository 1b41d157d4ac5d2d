"""Makes a task from its declaration: reads its files, resolves its ref, computes its digests."""

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct

from bench.suite.declared import DeclaredFile, DeclaredSolutions, DeclaredSource, DeclaredTask
from bench.suite.derived import check_derived
from bench.suite.documents import Document
from bench.suite.files import LONGEST_PATH, Refused, check_path, read_file, read_text, shown
from bench.suite.labels import read_labels
from bench.suite.model import (
    Asset,
    Environment,
    LabelOracle,
    Oracle,
    RepositorySource,
    Solutions,
    Source,
    Task,
    TreeSource,
)
from bench.suite.oracle import capture_oracle, target_problems
from bench.suite.problems import Problems
from bench.suite.requirements import read_requirements

MOST_PROMPT_BYTES = 256 << 10
MOST_CHANGE_BYTES = 16 << 20
LONGEST_ASSET_TARGET = LONGEST_PATH
_REVIEW_CLASSES = ("review-defect", "review-clean")

Change = bytes | Literal["all"] | None
Place = Callable[..., str]
Result = TypeVar("Result")


class Desk(Struct, frozen=True):
    """What making the tasks of one suite needs. `resolve` and `digest` remember what they were asked before,
    so that one ref is one commit, and one folder one digest, in all of the suite.
    """

    folder: Path
    document: Document
    problems: Problems
    resolve: Callable[[Path, str], str]
    digest: Callable[..., str]


class _BroughtAlong(Struct, frozen=True):
    """What a task's working copy and sandbox hold besides the source."""

    assets: tuple[Asset, ...]
    dependencies: tuple[Asset, ...]
    environment: Environment


def make_task(desk: Desk, number: int, declared: DeclaredTask) -> Task | None:
    """The task at position `number`, or None when something is wrong with it, which `desk.problems` then says."""

    def place(*path: str | int) -> str:
        return f"{desk.document.place(('tasks', number, *path))}: task `{declared.id}`"

    attempt = desk.problems.attempt
    for path, text in _contradictions(declared):
        desk.problems.add(place(path), text)
    source = attempt(place("source"), functools.partial(_source, desk, declared.source))
    change = attempt(place("change"), functools.partial(_change, desk.folder, declared.change))
    prompt = attempt(place("prompt"), functools.partial(_prompt, desk.folder, declared.prompt))
    oracle = _oracle(desk, place("oracle"), declared)
    brought = _brought_along(desk, place, declared)
    solutions = attempt(place("solutions"), functools.partial(_solutions, desk.folder, declared))
    if source is None or prompt is None or oracle is None or brought is None or solutions is None:
        return None
    if isinstance(oracle, LabelOracle):
        _check_class(desk.problems, place("class"), declared.class_, oracle)
    return Task(
        id=declared.id,
        class_=declared.class_,
        split=declared.split,
        source=source,
        change=change,
        prompt=prompt,
        setup=declared.setup,
        verify=declared.verify,
        oracle=oracle,
        assets=brought.assets,
        dependencies=brought.dependencies,
        derived=declared.derived,
        environment=brought.environment,
        solutions=solutions,
        critical=declared.critical,
        expensive=declared.expensive,
    )


def _contradictions(declared: DeclaredTask) -> Iterator[tuple[str, str]]:
    """What the schema cannot say about one entry, as (key, problem)."""
    is_review = declared.class_ in _REVIEW_CLASSES
    if is_review and declared.oracle.labels is None:
        yield "oracle", f"a {declared.class_} task is judged by labels: use `oracle: {{labels: FILE}}`"
    if not is_review and declared.oracle.labels is not None:
        yield "oracle", f"labels judge reviews; a {declared.class_} task needs `oracle: {{command, files}}`"
    if is_review and declared.change is None:
        yield "class", "a review task needs a `change`: without one there is nothing to review"
    if declared.environment.requirements is not None and not declared.environment.python:
        yield "environment", "`requirements` are installed for a Python: add `python: true`"


def _check_class(problems: Problems, place: str, class_: str, oracle: LabelOracle) -> None:
    if class_ == "review-clean" and not oracle.clean:
        problems.add(
            place, f"review-clean must have no labels, but has {len(oracle.labels)}; use review-defect"
        )
    if class_ == "review-defect" and oracle.clean:
        problems.add(place, "review-defect must have labels, but has none; use review-clean")


def _source(desk: Desk, declared: DeclaredSource) -> Source:
    if declared.tree is not None:
        tree = (desk.folder / declared.tree).resolve()
        if not tree.is_dir():
            raise Refused(f"the tree `{shown(declared.tree)}` is not a folder that exists")
        return TreeSource(tree, _digest(desk, tree, declared.tree, without=desk.folder))
    repository = (desk.folder / str(declared.repository)).resolve()
    return RepositorySource(repository, declared.ref, desk.resolve(repository, declared.ref))


def _change(folder: Path, declared: str | None) -> Change:
    if declared is None or declared == "all":
        return "all" if declared else None
    return _patch(folder, declared)


def _patch(folder: Path, declared: str) -> bytes:
    patch = _named(declared, lambda: read_file(folder, check_path(declared), MOST_CHANGE_BYTES))
    if not patch.strip():
        raise Refused(f"`{declared}` is empty: it must be a git patch")
    return patch


def _solutions(folder: Path, declared: DeclaredTask) -> Solutions:
    """The known solutions of a task that is judged by a hidden test: a review's follow from its labels."""
    files = declared.solutions
    if declared.oracle.labels is not None and files != DeclaredSolutions():
        raise Refused("a review's right and wrong answers follow from its labels: leave `solutions` out")
    right = None if files.reference is None else _patch(folder, files.reference)
    return Solutions(right, tuple((Path(path).stem, _patch(folder, path)) for path in files.wrong))


def _prompt(folder: Path, declared: str) -> str:
    prompt = _named(declared, lambda: read_text(folder, check_path(declared), MOST_PROMPT_BYTES))
    if not prompt.strip():
        raise Refused(f"`{declared}` is empty: it must say what to do")
    return prompt


def _oracle(desk: Desk, place: str, declared: DeclaredTask) -> Oracle | None:
    labels, attempt = declared.oracle.labels, desk.problems.attempt
    if labels is None:
        oracle = declared.oracle
        return attempt(place, lambda: capture_oracle(desk.folder, oracle.command, oracle.files))
    path = attempt(place, lambda: _named(labels, lambda: check_path(labels)))
    if path is None:
        return None
    return attempt("", lambda: read_labels(desk.folder, path, _inside(desk, path), declared.id))


def _brought_along(desk: Desk, place: Place, declared: DeclaredTask) -> _BroughtAlong | None:
    attempt = desk.problems.attempt
    assets = attempt(place("assets"), lambda: _assets(desk, declared.assets))
    dependencies = attempt(place("dependencies"), lambda: _dependencies(desk, declared.dependencies))
    environment = _environment(desk, place("environment"), declared)
    attempt(place("derived"), lambda: check_derived(declared.derived))
    if assets is None or dependencies is None or environment is None:
        return None
    return _BroughtAlong(assets, dependencies, environment)


def _environment(desk: Desk, place: str, declared: DeclaredTask) -> Environment | None:
    python, path = declared.environment.python, declared.environment.requirements
    if path is None:
        return Environment(python)
    checked = desk.problems.attempt(place, lambda: _named(path, lambda: check_path(path)))
    if checked is None:
        return None
    name = _inside(desk, path)
    content = desk.problems.attempt("", lambda: read_requirements(desk.folder, path, name, declared.id))
    return None if content is None else Environment(python, content)


def _inside(desk: Desk, path: str) -> str:
    """What messages call a file of the suite."""
    return f"{desk.document.name.rpartition('/')[0]}/{path}"


def _assets(desk: Desk, declared: Sequence[DeclaredFile]) -> tuple[Asset, ...]:
    return _brought(desk, declared, [file.target for file in declared], allow_git=False)


def _dependencies(desk: Desk, declared: Sequence[DeclaredFile]) -> tuple[Asset, ...]:
    """Like assets; a target may be absolute, a place in the sandbox."""
    targets = [file.target.removeprefix("/") for file in declared]
    return _brought(desk, declared, targets, allow_git=True)


def _brought(
    desk: Desk, declared: Sequence[DeclaredFile], targets: Sequence[str], *, allow_git: bool
) -> tuple[Asset, ...]:
    problems = target_problems(targets, LONGEST_ASSET_TARGET)
    brought: list[Asset] = []
    for file in declared:
        source = (desk.folder / file.source).resolve()
        try:
            digest = _digest(desk, source, file.source, allow_git=allow_git)
            brought.append(Asset(source, file.target, digest))
        except Refused as refusal:
            problems += refusal.problems
    if problems:
        raise Refused(*problems)
    return tuple(brought)


def _digest(desk: Desk, source: Path, declared: str, **options: object) -> str:
    return _named(declared, lambda: desk.digest(source, **options))


def _named(declared: str, action: Callable[[], Result]) -> Result:
    """What `action` returns; what it refuses is said about the path as it was declared."""
    try:
        return action()
    except Refused as refusal:
        raise Refused(*(f"`{shown(declared)}` {problem}" for problem in refusal.problems)) from refusal

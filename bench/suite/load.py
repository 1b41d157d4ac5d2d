"""Loads a suite: reads every file, resolves every ref, and says everything that is wrong at once."""

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from bench.config import Complaint, KeyPath, SuiteConfig, dotted, load_schema, schema_complaints
from bench.errors import SuiteError
from bench.suite.declared import DeclaredSuite
from bench.suite.digests import suite_digest
from bench.suite.documents import Document, read_yaml
from bench.suite.files import Refused, read_file, read_text
from bench.suite.hidden import leaks
from bench.suite.model import Suite, Task
from bench.suite.problems import Problems
from bench.suite.refs import resolve_commit
from bench.suite.tasks import Desk, make_task
from bench.suite.tree import digest_source

SUITE_FILE = "suite.yaml"
MOST_BYTES = 4 << 20

_CHOICES: Mapping[KeyPath, str] = {
    ("source",): "must have either `repository` and `ref`, or `tree`",
    ("oracle",): "must have either `labels`, or `command` and `files`",
}


def load_suite(config: SuiteConfig, root: Path) -> Suite:
    """The suite that `config` names, relative to the project's `root`, with everything in it read and resolved.

    SuiteError lists all that is wrong, each with file, line and task.
    """
    folder = (root / config.path).resolve()
    name = f"{_relative(folder, root)}/{SUITE_FILE}"
    if not (folder / SUITE_FILE).is_file():
        raise SuiteError(_missing(config, folder, name))
    problems = Problems()
    document = problems.require(problems.attempt("", lambda: _read(folder, name)), name)
    declared = problems.require(_declared(document, problems), name)
    desk = Desk(folder, document, problems, functools.cache(resolve_commit), functools.cache(digest_source))
    _check_together(desk, declared)
    tasks = tuple(task for number, one in enumerate(declared.tasks) if (task := make_task(desk, number, one)))
    problems.require(tasks, name)
    return Suite(
        name=declared.name,
        folder=folder,
        tasks=tasks,
        digest=suite_digest(tasks),
        manifest=read_file(folder, SUITE_FILE, MOST_BYTES),
        labels=frozenset((*_label_files(folder, declared), *_solutions(tasks))),
    )


def _label_files(folder: Path, declared: DeclaredSuite) -> Iterator[bytes]:
    """The bytes of every file of labels, which were read as labels before."""
    for path in {task.oracle.labels for task in declared.tasks if task.oracle.labels is not None}:
        yield read_file(folder, path, MOST_BYTES)


def _solutions(tasks: Iterable[Task]) -> Iterator[bytes]:
    """The bytes of every known solution, which are as private as labels."""
    for task in tasks:
        yield from task.solutions.contents


def _read(folder: Path, name: str) -> Document:
    try:
        text = read_text(folder, SUITE_FILE, MOST_BYTES)
    except Refused as refusal:
        raise Refused(f"{name} {refusal}") from refusal
    return read_yaml(text, name)


def _declared(document: Document, problems: Problems) -> DeclaredSuite | None:
    """The document as structs, or None with everything noted that the schema does not allow."""
    complaints = schema_complaints(load_schema("suite"), document.value)
    for each in sorted(complaints, key=lambda each: (document.line(each.path), each.line())):
        problems.add(_place(document, each.path), _said(document, each))
    return None if complaints else msgspec.convert(document.value, DeclaredSuite)


def _said(document: Document, complaint: Complaint) -> str:
    """A complaint about the suite file, its path within the task when the place names that."""
    path, text = complaint.path, complaint.text
    # About such a mapping as a whole, only the choice between its keys can be wrong.
    if isinstance(document.part(path), dict):
        text = _CHOICES.get(path[2:], text)
    key = dotted(path[2:] if _task_at(document, path) else path)
    return f"{key}: {text}" if key else text


def _check_together(desk: Desk, declared: DeclaredSuite) -> None:
    """Note what is wrong between the tasks: ids that repeat, hidden files that another entry would show."""
    first: dict[str, int] = {}
    for number, task in enumerate(declared.tasks):
        if task.id in first:
            before = desk.document.place(("tasks", first[task.id], "id"))
            place = desk.document.place(("tasks", number, "id"))
            desk.problems.add(place, f"the task id `{task.id}` is there already, at {before}")
        first.setdefault(task.id, number)
    for path, text in leaks(desk.folder, declared.tasks):
        desk.problems.add(_place(desk.document, path), text)


def _place(document: Document, path: KeyPath) -> str:
    """`file:line` of a part, and the task that it is in when its id can be read."""
    task = _task_at(document, path)
    return f"{document.place(path)}: task `{task}`" if task else document.place(path)


def _task_at(document: Document, path: KeyPath) -> str | None:
    match path:
        case ("tasks", int(number), *_):
            entry = document.value["tasks"][number]
            task = entry.get("id") if isinstance(entry, dict) else None
            return task if isinstance(task, str) else None
        case _:
            return None


def _missing(config: SuiteConfig, folder: Path, name: str) -> str:
    if config.prepare is not None:
        return f"the suite `{config.name}` is not prepared: there is no {name}\n  run `bench prepare {config.name}`"
    what = "folder" if not folder.is_dir() else "suite file"
    return (
        f"the suite `{config.name}` has no {what}: there is no {name}\n"
        "  set `suite.path` to the folder that holds suite.yaml, relative to the project's root"
    )


def _relative(folder: Path, root: Path) -> str:
    base = root.resolve()
    return folder.relative_to(base).as_posix() if folder.is_relative_to(base) else str(folder)

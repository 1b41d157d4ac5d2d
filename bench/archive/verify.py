"""Whether a project's object store holds what its runs refer to, and nothing that was changed."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from bench.archive.model import BrokenObject, StoreReport, UnreadableRun
from bench.archive.objects import Contents, StoredObject, content_digest, read_contents
from bench.archive.references import artifacts_of, kept_bytes_of, mentioned_by
from bench.errors import UserError
from bench.project import RUNS, RunFolder, list_runs
from bench.results import Artifact

Problem = Literal["missing", "changed", "wrong-size", "unreadable"]


def verify_store(root: Path) -> StoreReport:
    """Re-hash every object of the project, and look for every artifact that a row of a run names."""
    store, runs = root / RUNS / "objects", list_runs(root)
    contents = read_contents(store)
    needed, mentioned, unreadable = _references(runs)
    broken = _broken(contents, needed)
    orphans = [each for each in contents.objects.values() if each.digest not in mentioned]
    return StoreReport(
        sound=not broken and not unreadable,
        store=str(store),
        objects=len(contents.objects),
        size=contents.size,
        runs=len(runs),
        referenced=len({artifact.digest for artifact in needed} | (mentioned & contents.objects.keys())),
        missing=sum(each.problem == "missing" for each in broken),
        changed=sum(each.problem != "missing" for each in broken),
        orphans=len(orphans),
        orphans_size=sum(each.size for each in orphans),
        broken=broken,
        unreadable=unreadable,
        strays=tuple(str(path) for path in contents.strays),
    )


def check_objects(contents: Contents, needed: Iterable[Artifact]) -> dict[str, Problem]:
    """What is wrong with the objects that are needed, by digest."""
    found = {artifact: _needed_problem(contents, artifact) for artifact in needed}
    return {artifact.digest: problem for artifact, problem in found.items() if problem is not None}


def _references(
    runs: Iterable[RunFolder],
) -> tuple[dict[Artifact, set[str]], set[str], tuple[UnreadableRun, ...]]:
    """What is needed, by which runs; what is mentioned at all; and the runs that cannot say."""
    needed: dict[Artifact, set[str]] = {}
    mentioned: set[str] = set()
    unreadable: list[UnreadableRun] = []
    for run in runs:
        try:
            mentioned |= mentioned_by(run)
            for artifact in artifacts_of(run) | {Artifact(digest, -1) for digest in kept_bytes_of(run)}:
                needed.setdefault(artifact, set()).add(run.id)
        except UserError as error:
            unreadable.append(UnreadableRun(run.id, str(error)))
    return needed, mentioned, tuple(unreadable)


def _broken(contents: Contents, needed: Mapping[Artifact, set[str]]) -> tuple[BrokenObject, ...]:
    problems = {digest: problem for digest, each in contents.objects.items() if (problem := _problem(each))}
    problems |= {
        artifact.digest: problem
        for artifact in needed
        if artifact.digest not in problems and (problem := _stated_problem(contents, artifact))
    }
    users: dict[str, set[str]] = {}
    for artifact, runs in needed.items():
        users.setdefault(artifact.digest, set()).update(runs)
    return tuple(
        sorted(
            BrokenObject(digest, problem, tuple(sorted(users.get(digest, ()))))
            for digest, problem in problems.items()
        )
    )


def _needed_problem(contents: Contents, artifact: Artifact) -> Problem | None:
    stated = _stated_problem(contents, artifact)
    return _problem(contents.objects[artifact.digest]) if stated is None else stated


def _stated_problem(contents: Contents, artifact: Artifact) -> Problem | None:
    """By its look. A size below zero is one that nobody stated."""
    stored = contents.objects.get(artifact.digest)
    if stored is None:
        return "missing"
    return "wrong-size" if artifact.size not in (-1, stored.size) else None


def _problem(stored: StoredObject) -> Problem | None:
    """By its content."""
    try:
        return None if content_digest(stored.path) == stored.digest else "changed"
    except OSError:
        return "unreadable"

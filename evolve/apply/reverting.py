"""Taking an apply back: the bytes from before, out of the object store, in one transaction."""

from collections.abc import Iterator
from pathlib import Path

from bench.config import SkillSpec, read_saved_config
from bench.digest import digest_bytes
from bench.project import RunFolder
from bench.results import ObjectStore
from bench.suite import Refused, check_path
from evolve.apply.difference import unified
from evolve.apply.folders import Folders, name_of, parent_of, read_state
from evolve.apply.leftovers import refuse_leftovers
from evolve.apply.model import AppliedFile, ApplyRecord, ApplySummary, Change, Purpose, Tools
from evolve.apply.problems import Problem, refuse
from evolve.apply.record import append_record, make_record, read_records
from evolve.apply.summary import summary_of
from evolve.apply.targets import is_inside
from evolve.apply.transaction import publish
from evolve.errors import ApplyError


def revert_run(root: Path, run: RunFolder, tools: Tools, *, dry_run: bool = False) -> ApplySummary:
    """Put back what the run's last apply replaced, or only say what that would change.

    ApplyError if it was never applied here, or names each file that is not as it was applied any more.
    """
    with Folders(root) as folders:
        record = _last(run)
        if record.action == "revert":
            return summary_of(root, run, "revert", "already-reverted", ())
        heading = f"run {run.id} cannot be reverted; nothing was changed:"
        refuse(heading, _place_problems(record, read_saved_config(run.path / "config.json").skills))
        refuse_leftovers(folders, {parent_of(each.path) for each in record.files})
        held, problems = _held(folders, record)
        if held == {each.path: each.before for each in record.files}:
            return summary_of(root, run, "revert", "already-reverted", ())
        refuse(heading, [*problems, *_drift_problems(record, held)])
        changes = _changes(run, record)
        if dry_run:
            return summary_of(root, run, "revert", "dry-run", changes, unified(changes))
        reverted = make_record(run, "revert", record.overlay, changes, tools.now)
        publish(folders, changes, Purpose(run.id, "revert", lambda: append_record(run, reverted)), tools)
        return summary_of(root, run, "revert", "reverted", changes)


def _last(run: RunFolder) -> ApplyRecord:
    records = read_records(run)
    if not records:
        raise ApplyError(
            f"run {run.id} was never applied by `evolve apply` here, so there is nothing to revert\n"
            "  a change that was taken over in another way is undone with git"
        )
    return records[-1]


def _place_problems(record: ApplyRecord, specs: dict[str, SkillSpec]) -> Iterator[Problem]:
    """Paths that no apply of this run can have written."""
    for file in record.files:
        try:
            fits = is_inside(check_path(file.path), specs)
        except Refused:
            fits = False
        if not fits:
            yield Problem(
                f"applied.jsonl names {file.path}, which is in no skill of the run and no mirror",
                "the record was edited; restore it from a copy, or undo with git",
            )


def _held(folders: Folders, record: ApplyRecord) -> tuple[dict[str, str], list[Problem]]:
    """The digest of what each file holds now, and what is wrong with those that cannot be read."""
    held: dict[str, str] = {}
    problems: list[Problem] = []
    for file in record.files:
        try:
            state = read_state(folders.hold(parent_of(file.path)), name_of(file.path))
            held[file.path] = digest_bytes(state.content)
        except Refused as refused:
            problems.append(
                Problem(f"{file.path}: {refused}", "put it back as it was applied, or undo with git")
            )
    return held, problems


def _drift_problems(record: ApplyRecord, held: dict[str, str]) -> Iterator[Problem]:
    for file in record.files:
        if file.path in held and held[file.path] != file.after:
            yield Problem(
                f"{file.path} was changed since it was applied",
                "put it back as it was applied, or undo the rest with git (git log -p shows how)",
            )


def _changes(run: RunFolder, record: ApplyRecord) -> tuple[Change, ...]:
    store = ObjectStore(run.objects)
    return tuple(_reversed(store, file) for file in record.files)


def _reversed(store: ObjectStore, file: AppliedFile) -> Change:
    return Change(path=file.path, before=store.get(file.after), after=store.get(file.before))

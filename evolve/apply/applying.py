"""Taking over what a run promoted: checked against rows, policy and working tree, then exchanged in one transaction."""

from collections.abc import Mapping
from pathlib import Path

from bench.project import RunFolder
from bench.results import ObjectStore
from bench.skills import Skill, apply_overlay
from evolve.apply.difference import unified
from evolve.apply.evidence import admission_problems, integrity_problems
from evolve.apply.folders import Folders, parent_of
from evolve.apply.ground import digests_of, drift_problems, measured_skills, read_canonical, target_problems
from evolve.apply.leftovers import refuse_leftovers
from evolve.apply.lineage import lineage
from evolve.apply.model import ApplySummary, Change, Purpose, Tools
from evolve.apply.problems import refuse
from evolve.apply.promoted import PromotedRun, read_promoted
from evolve.apply.record import append_record, make_record
from evolve.apply.summary import summary_of
from evolve.apply.targets import Target, changes_of, destinations
from evolve.apply.transaction import publish
from evolve.errors import ApplyError


def apply_run(root: Path, run: RunFolder, tools: Tools, *, dry_run: bool = False) -> ApplySummary:
    """Put what the run promoted into the working tree, or only say what that would change.

    ApplyError lists all that is wrong with the first stage that refuses: the run's files, the evidence's
    integrity, its admissibility, the working tree. Nothing is changed then.
    """
    with Folders(root) as folders:
        promoted = read_promoted(run)
        refuse(_heading(run), integrity_problems(promoted))
        targets = destinations(promoted.champion, promoted.config.skills)
        refuse_leftovers(folders, {parent_of(each.path) for each in targets})
        canonical = read_canonical(folders, promoted.config, promoted.generations[-1].base)
        if digests_of(canonical) == dict(promoted.generations[-1].result):
            _check_mirrors(folders, promoted, targets, canonical)
            return summary_of(root, run, "apply", "already-applied", ())
        runs = _admitted(root, promoted, canonical, tools)
        changes = _planned(folders, runs, targets, canonical)
        if dry_run:
            return summary_of(root, run, "apply", "dry-run", changes, unified(changes))
        _publish(folders, promoted, changes, tools)
        return summary_of(root, run, "apply", "applied", changes)


def _check_mirrors(
    folders: Folders, promoted: PromotedRun, targets: tuple[Target, ...], canonical: Mapping[str, Skill]
) -> None:
    """Refuse if the skills hold the promotion, but a mirror does not."""
    heading = f"run {promoted.run.id} is applied to the skills themselves, but not everywhere:"
    files = {name: skill.files for name, skill in canonical.items()}
    refuse(heading, target_problems(folders, targets, files, promoted.config.skills))


def _admitted(
    root: Path, promoted: PromotedRun, canonical: Mapping[str, Skill], tools: Tools
) -> tuple[PromotedRun, ...]:
    """The run and those that it was built on, all of which may be applied."""
    runs = lineage(root, promoted, digests_of(canonical))
    refuse(_heading(promoted.run), [problem for each in runs[:-1] for problem in integrity_problems(each)])
    refuse(
        _heading(promoted.run), [problem for each in runs for problem in admission_problems(each, tools.now)]
    )
    return runs


def _planned(
    folders: Folders,
    runs: tuple[PromotedRun, ...],
    targets: tuple[Target, ...],
    canonical: Mapping[str, Skill],
) -> tuple[Change, ...]:
    """What must change in a working tree that is the measured one."""
    promoted, base = runs[-1], runs[0].generations[0].base
    specs = promoted.config.skills
    measured = measured_skills(folders.root, specs, canonical, base)
    problems = [
        *drift_problems(specs, canonical, measured),
        *target_problems(folders, targets, measured, specs),
    ]
    refuse(
        f"run {promoted.run.id} cannot be applied to the working tree as it is; nothing was changed:",
        problems,
    )
    candidates = apply_overlay(canonical, promoted.champion)
    if digests_of(candidates) != dict(promoted.generations[-1].result):
        raise ApplyError(
            f"the overlays of {promoted.run.path} do not make the skills that were measured\n"
            "  restore the run folder from a copy, or measure again: evolve"
        )
    return changes_of(targets, canonical, candidates)


def _publish(folders: Folders, promoted: PromotedRun, changes: tuple[Change, ...], tools: Tools) -> None:
    run = promoted.run
    store = ObjectStore(run.objects)
    for content in {content for change in changes for content in (change.before, change.after)}:
        store.put(content)
    record = make_record(run, "apply", promoted.champion.digest, changes, tools.now)
    publish(folders, changes, Purpose(run.id, "apply", lambda: append_record(run, record)), tools)


def _heading(run: RunFolder) -> str:
    return f"run {run.id} cannot be applied; nothing was changed:"

"""The promotions that lead from the skills as they are to what a run promoted."""

from collections.abc import Mapping
from pathlib import Path

from bench.project import RunFolder
from evolve.apply.promoted import PromotedRun, read_promoted
from evolve.history import read_history, skills_digest


def lineage(root: Path, promoted: PromotedRun, canonical: Mapping[str, str]) -> tuple[PromotedRun, ...]:
    """The run, preceded by the earlier unapplied runs that it was built on (`unapplied=build_on`), oldest first.

    `canonical` are the digests of the skills as they are. UserError for an earlier run that cannot be read.
    """
    runs = [promoted]
    while dict(runs[0].generations[0].base) != dict(canonical) and _builds(runs[0]):
        earlier = _result_of(root, runs[0])
        if earlier is None:
            break
        runs.insert(0, earlier)
    return tuple(runs)


def _builds(promoted: PromotedRun) -> bool:
    proposer = promoted.config.proposer
    return proposer is not None and proposer.unapplied == "build_on"


def _result_of(root: Path, promoted: PromotedRun) -> PromotedRun | None:
    """The newest earlier run whose champion this run began with."""
    base = promoted.generations[0].base
    for each in reversed(read_history(root)):
        folder = each.folder.parent
        if (
            each.decision == "promote"
            and each.result == skills_digest(base)
            and folder.name < promoted.run.id
        ):
            earlier = read_promoted(RunFolder(folder))
            return earlier if dict(earlier.generations[-1].result) == dict(base) else None
    return None

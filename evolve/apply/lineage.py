"""The promotions that lead from the skills as they are to what a run promoted."""

from collections.abc import Mapping
from pathlib import Path

from bench.project import RunFolder, list_runs
from evolve.apply.promoted import PromotedRun, read_promoted
from evolve.gate import Promotion
from evolve.promoted import read_promotions


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
    """The newest earlier run that says that it ended in what this run began with; the caller checks it."""
    base = dict(promoted.generations[0].base)
    for run in reversed(list_runs(root)):
        if run.id < promoted.run.id and _last_result(run) == base:
            earlier = read_promoted(run)
            return earlier if dict(earlier.generations[-1].result) == base else None
    return None


def _last_result(run: RunFolder) -> Mapping[str, str] | None:
    """The skills that the last promotion of a run made, by its own word."""
    promotions = [each for _, _, each in read_promotions(run) if isinstance(each, Promotion)]
    results = [dict(each.metadata.result_skills) for each in promotions if each.decision == "promote"]
    return results[-1] if results else None

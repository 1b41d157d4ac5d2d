"""Whether a promotion follows from what lies on the disk, and whether it may be applied."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from bench.config import read_overrides
from bench.errors import UserError
from bench.exits import ExitCode
from bench.project import RunFolder
from evolve.apply.problems import Problem
from evolve.apply.promoted import PromotedRun
from evolve.campaign import release_faults
from evolve.gate import CampaignState, only_searches, tests_release
from evolve.promoted import PromotedGeneration, champion_faults, generation_faults, without_row
from evolve.release import release_command

LIFETIME = timedelta(days=90)
TOLERANCE = timedelta(minutes=5)

_RESTORE = "restore the run folder from a copy, or measure again: evolve"


def integrity_problems(promoted: PromotedRun) -> Iterator[Problem]:
    """Whatever in a run does not follow from the rest of it: it was edited, or damaged."""
    config, run, generations = promoted.config, promoted.run, promoted.generations
    for generation in generations:
        for fault in [*generation_faults(config, run.id, generation), *_release_faults(promoted, generation)]:
            yield Problem(f"{generation.folder}: {fault}", _RESTORE)
    for earlier, later in pairwise(generations):
        if dict(earlier.result) != dict(later.base):
            yield Problem(f"{later.folder} was not measured on the result of {earlier.folder.name}", _RESTORE)
    for fault in champion_faults(run, config, generations, promoted.champion):
        yield Problem(fault, _RESTORE)


def _release_faults(promoted: PromotedRun, generation: PromotedGeneration) -> Iterator[str]:
    root, about = promoted.run.path.parent.parent, generation.campaign
    if isinstance(about, CampaignState):
        yield from release_faults(root, about, promoted.run.id, generation.number)


def admission_problems(promoted: PromotedRun, now: datetime, *, searched: bool = False) -> Iterator[Problem]:
    """Why sound evidence may not be applied all the same: partial, too old, from the future, not contained, or
    no release (which is left out if it may be `searched`).
    """
    again = measure_again(promoted)
    for generation in promoted.generations:
        yield from _completeness_problems(generation)
        yield from _time_problems(generation, again, now)
        if not generation.promotion.metadata.contained or promoted.config.sandbox.name == "host":
            yield Problem(
                f"{generation.folder}: it was measured without containment (sandbox={promoted.config.sandbox.name}), "
                "where a cell can reach the oracles: that is never applied",
                f"measure again contained: {again} sandbox=bubblewrap",
            )
        if not searched:
            yield from _tier_problems(promoted, generation)


def measure_again(promoted: PromotedRun) -> str:
    """The command that measures what a run promoted anew, on the skills as they are then."""
    run = promoted.run
    if (run.path / "champion").is_dir():
        overlay = "champion"
    elif len(promoted.generations) == 1 and not (run.path / "start").is_dir():
        overlay = f"{promoted.generations[0].folder.name}/overlay"
    else:
        return "evolve proposer.unapplied=ignore"
    return f"evolve proposer=manual proposer.options.overlay=runs/{run.id}/{overlay}"


def _tier_problems(promoted: PromotedRun, generation: PromotedGeneration) -> Iterator[Problem]:
    """Only what passed a release test on tasks that no proposer knows ships, of a policy that has two tiers."""
    verdict, run = generation.promotion.verdict, promoted.run
    remedy = f"test it for release: {release_command(_words(run), verdict.policy, run.id)}"
    if only_searches(verdict):
        what = "it was promoted by tier=search, which moves the champion and releases nothing"
        yield Problem(f"{generation.folder}: {what}", remedy)
    elif tests_release(verdict) and generation.promotion.evidence.split != "holdout":
        what = f"its release test counted the split {generation.promotion.evidence.split}, and not the one held out"
        yield Problem(f"{generation.folder}: {what}", remedy)


def _words(run: RunFolder) -> tuple[str, ...]:
    """The words that the run was started with, as far as it says so."""
    try:
        return read_overrides(run.path / "config.json")
    except UserError:
        return ()


def _completeness_problems(generation: PromotedGeneration) -> Iterator[Problem]:
    stopped, code = generation.promotion.evidence.stopped, generation.promotion.metadata.exit_code
    remedy = "measure again to the end: evolve"
    unmeasured = without_row(generation)
    if unmeasured:
        yield Problem(
            f"{generation.folder}: its evidence is partial: {len(unmeasured)} cells of its plan have no row",
            remedy,
        )
    if stopped is not None:
        yield Problem(
            f"{generation.folder}: its evidence is partial: the sweep was stopped ({stopped})", remedy
        )
    if code != ExitCode.VERDICT:
        yield Problem(
            f"{generation.folder}: its evidence is partial or unusable: it ended with exit code {code}",
            remedy,
        )


def _time_problems(generation: PromotedGeneration, again: str, now: datetime) -> Iterator[Problem]:
    """The age is that of the oldest measurement: a verdict can be reached again at any time, and a run can go on at
    any time, and neither makes anything younger.
    """
    made = generation.promotion.metadata.generated_at
    measured = max((row.finished_at for row in generation.rows), default=made)
    if max(made, measured) > now + TOLERANCE:
        yield Problem(
            f"{generation.folder}: its evidence is from the future ({max(made, measured):%Y-%m-%d %H:%M} UTC)",
            "set the clock of this machine, or of the one that measured",
        )
    oldest = min([made, *(row.measured_at for row in generation.rows)])
    if now > oldest + LIFETIME:
        yield Problem(
            f"{generation.folder}: its evidence expired: it is from {oldest:%Y-%m-%d}, and models, "
            f"agents and harnesses change; it counts for {LIFETIME.days} days",
            f"measure again: {again}",
        )

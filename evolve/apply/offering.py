"""Whether an earlier promotion may be offered, or built on: only what `evolve apply` would take."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from bench.errors import UserError
from bench.project import RunFolder
from bench.skills import Overlay
from evolve.apply.evidence import admission_problems, integrity_problems
from evolve.apply.lineage import lineage
from evolve.apply.promoted import read_promoted
from evolve.errors import PromotionError


def offer_refusal(
    root: Path, run: RunFolder, canonical: Mapping[str, str], now: datetime, *, searched: bool = False
) -> str | None:
    """Why `evolve apply` would refuse what the run promoted, in one line; None if it would take it, or if it was only
    `searched` and nothing else is wrong with it.

    `canonical` are the digests of the skills as they are.
    """
    try:
        runs = lineage(root, read_promoted(run), canonical)
    except UserError as error:
        return " ".join(str(error).split())
    found = [problem.what for each in runs for problem in integrity_problems(each)]
    found += [problem.what for each in runs for problem in admission_problems(each, now, searched=searched)]
    return " ".join(found[0].split()) if found else None


def promoted_overlay(run: RunFolder) -> Overlay:
    """All that a run promoted over the skills, as one overlay, made of what its generations froze.

    PromotionError if the run does not check.
    """
    promoted = read_promoted(run)
    problems = [problem.what for problem in integrity_problems(promoted)]
    if problems:
        raise PromotionError("\n  ".join([f"run {run.id} cannot be built on:", *problems]))
    return promoted.champion

"""A generation that an earlier process began: what it proposed, and how far it came."""

from pathlib import Path

from msgspec import Struct

from bench.config import Config
from bench.errors import RunError
from bench.project import RunFolder, remove_folder
from bench.skills import read_overlay
from bench.sweep import Plan, read_plan
from evolve.errors import PromotionError
from evolve.gate import Promotion, read_promotion, recompute
from evolve.propose import Proposal

REPORT = "report.md"


class Begun(Struct, frozen=True):
    """The proposal and the sealed plan of a generation, and what was decided if its sweep came to its end."""

    proposal: Proposal
    plan: Plan
    judged: Promotion | None


def read_begun(run: RunFolder, number: int, config: Config) -> Begun | None:
    """The generation of this number as far as it came; None if nothing of it was sealed, and then nothing of it is
    left. UserError names what is damaged.
    """
    folder = run.path / f"gen-{number}"
    if not (folder / "plan.json").exists():
        _discard(folder)
        return None
    plan = _sealed(folder / "plan.json")
    if plan.proposed is None:
        raise RunError(f"{folder / 'plan.json'} proposes nothing\n  restore the run folder from a copy")
    overlay = read_overlay(folder / "overlay", config.skills)
    if overlay.digest != plan.overlay:
        raise RunError(
            f"{folder / 'overlay'} is not the overlay that plan.json names: it was changed\n"
            "  restore the run folder from a copy, or start a new run"
        )
    proposal = Proposal(
        idea=plan.proposed.idea,
        idea_digest=plan.proposed.idea_digest,
        files=overlay.files,
        text=(folder / "proposal.md").read_text("utf-8"),
    )
    return Begun(proposal, plan, _judged(folder))


def _sealed(path: Path) -> Plan:
    """The plan; RunError says also what to do, as far as the reader does not."""
    try:
        return read_plan(path)[0]
    except RunError as error:
        said = str(error)
        advice = "" if "\n" in said else "\n  restore the run folder from a copy, or start a new run"
        raise RunError(f"{said}{advice}") from error


def _judged(folder: Path) -> Promotion | None:
    """The decision on a whole sweep, told in a report; one that was cut short is decided again."""
    path = folder / "promotion.json"
    if not path.exists() or not (folder / REPORT).exists():
        return None
    try:
        promotion = read_promotion(path)
        recompute(promotion)
    except PromotionError as error:
        raise RunError(f"{error}\n  restore the run folder from a copy, or start a new run") from error
    return promotion if promotion.evidence.stopped is None else None


def _discard(folder: Path) -> None:
    """Remove what a process left that was killed before the plan was sealed: nothing of it was paid."""
    if (folder / "results.jsonl").exists():
        raise RunError(f"{folder} has rows, but no plan.json\n  restore the run folder from a copy")
    if folder.exists():
        remove_folder(folder)

"""The files of a judged generation, read from its folder. Nothing is believed yet."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import UNSET, Struct, UnsetType

from bench.config import Config
from bench.errors import UserError
from bench.project import RunFolder
from bench.results import Row, read_rows
from bench.skills import Overlay, read_overlay
from bench.sweep import Plan, Proposed, extent, read_drift, read_plan
from evolve.campaign import read_marks
from evolve.errors import PromotionError
from evolve.gate import CampaignState, Promotion, read_promotion

PROMOTION = "promotion.json"


class PromotedGeneration(Struct, frozen=True, kw_only=True):
    """One judged generation as its folder holds it. `plan_digest` is that of the file plan.json, `campaign` the mark
    of its release test, `spared` are the cells that a look inside its sweep did not let begin.
    """

    number: int
    folder: Path
    promotion: Promotion
    overlay: Overlay
    rows: tuple[Row, ...]
    torn: bool
    plan: Plan
    proposed: Proposed
    plan_digest: str
    drift: str | None = None
    campaign: CampaignState | UnsetType = UNSET
    spared: frozenset[tuple[str, str, int]] = frozenset()

    @property
    def base(self) -> Mapping[str, str]:
        """The digests of the skills that it was measured against, as they were sealed."""
        return self.proposed.base_skills

    @property
    def result(self) -> Mapping[str, str]:
        """The digests of the skills with its overlay in them, as they were sealed."""
        return self.proposed.result_skills


def read_promotions(run: RunFolder) -> Iterator[tuple[int, Path, Promotion | UserError]]:
    """The verdicts of a run by generation, each with its file; where one cannot be read, why not."""
    folders = [each for each in run.path.glob("gen-*") if each.name[4:].isdecimal()]
    for folder in sorted(folders, key=lambda each: int(each.name[4:])):
        path = folder / PROMOTION
        if path.exists():
            yield int(folder.name[4:]), path, _read_or_error(path)


def read_generation(folder: Path, number: int, promotion: Promotion, config: Config) -> PromotedGeneration:
    """Everything else in the generation's folder. UserError names what cannot be read."""
    rows, torn = read_rows(folder / "results.jsonl")
    plan, proposed, plan_digest = _read_proposal(folder / "plan.json")
    marks = read_marks(folder)
    return PromotedGeneration(
        number=number,
        folder=folder,
        promotion=promotion,
        overlay=read_overlay(folder / "overlay", config.skills),
        rows=rows,
        torn=torn,
        plan=plan,
        proposed=proposed,
        plan_digest=plan_digest,
        drift=read_drift(folder),
        campaign=marks[-1] if marks else UNSET,
        spared=extent(folder, plan).spared,
    )


def _read_or_error(path: Path) -> Promotion | UserError:
    try:
        return read_promotion(path)
    except UserError as error:
        return error


def _read_proposal(path: Path) -> tuple[Plan, Proposed, str]:
    plan, digest = read_plan(path)
    if plan.proposed is None:
        raise PromotionError(f"{path} is a plan that proposes nothing")
    return plan, plan.proposed, digest

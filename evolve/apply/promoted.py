"""What a run promoted, read from its folder. Nothing is believed yet."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bench.config import Config, read_saved_config
from bench.errors import UserError
from bench.project import RunFolder
from bench.results import Row, read_rows
from bench.skills import Overlay, read_overlay
from bench.sweep import Plan, read_plan
from evolve.apply.problems import Problem, refusal, refuse
from evolve.errors import ApplyError
from evolve.gate import Promotion, read_promotion

_MOST_NAMED = 10
_REMEDY = "restore the run folder from a copy, or measure again: evolve"


class PromotedGeneration(Struct, frozen=True, kw_only=True):
    """One promoted generation as its folder holds it. `plan_digest` is that of the file plan.json."""

    number: int
    folder: Path
    promotion: Promotion
    overlay: Overlay
    rows: tuple[Row, ...]
    torn: bool
    plan: Plan
    plan_digest: str

    @property
    def base(self) -> Mapping[str, str]:
        """The digests of the skills that it was measured against."""
        return self.promotion.metadata.base_skills

    @property
    def result(self) -> Mapping[str, str]:
        """The digests of the skills with its overlay in them."""
        return self.promotion.metadata.result_skills


class PromotedRun(Struct, frozen=True, kw_only=True):
    """A run's promoted generations in order, its configuration, and the stack that it says they make."""

    run: RunFolder
    config: Config
    generations: tuple[PromotedGeneration, ...]
    champion: Overlay


def read_promoted(run: RunFolder) -> PromotedRun:
    """All that a run promoted. ApplyError lists the files that cannot be read, or says that nothing was promoted."""
    heading = f"run {run.id} cannot be applied:"
    promotions, problems = _promotions(run)
    try:
        config = read_saved_config(run.path / "config.json")
    except UserError as error:
        raise refusal(heading, [Problem(str(error), _REMEDY), *problems]) from error
    refuse(heading, problems)
    if not any(promotion.decision == "promote" for promotion in promotions.values()):
        raise ApplyError(
            f"run {run.id} promoted nothing, so there is nothing to apply\n  {_decided(promotions)}"
        )
    generations: list[PromotedGeneration] = []
    for number, promotion in promotions.items():
        try:
            if promotion.decision == "promote":
                generations.append(_generation(run.path / f"gen-{number}", number, promotion, config))
        except UserError as error:
            problems.append(Problem(str(error), _REMEDY))
    try:
        champion = read_overlay(run.path / "champion", config.skills)
    except UserError as error:
        raise refusal(heading, [*problems, Problem(str(error), _REMEDY)]) from error
    refuse(heading, problems)
    return PromotedRun(run=run, config=config, generations=tuple(generations), champion=champion)


def _promotions(run: RunFolder) -> tuple[dict[int, Promotion], list[Problem]]:
    """The verdicts of a run by generation, and what is wrong with those that cannot be read."""
    found: dict[int, Promotion] = {}
    problems: list[Problem] = []
    folders = [each for each in run.path.glob("gen-*") if each.name[4:].isdecimal()]
    for folder in sorted(folders, key=lambda each: int(each.name[4:])):
        try:
            if (folder / "promotion.json").exists():
                found[int(folder.name[4:])] = read_promotion(folder / "promotion.json")
        except UserError as error:
            problems.append(Problem(str(error), _REMEDY))
    return found, problems


def _generation(folder: Path, number: int, promotion: Promotion, config: Config) -> PromotedGeneration:
    rows, torn = read_rows(folder / "results.jsonl")
    plan, plan_digest = read_plan(folder / "plan.json")
    return PromotedGeneration(
        number=number,
        folder=folder,
        promotion=promotion,
        overlay=read_overlay(folder / "overlay", config.skills),
        rows=rows,
        torn=torn,
        plan=plan,
        plan_digest=plan_digest,
    )


def _decided(promotions: Mapping[int, Promotion]) -> str:
    said = [f"generation {number}: {promotion.decision}" for number, promotion in promotions.items()]
    return ", ".join(said) or "it has no verdict: it was interrupted, or is still at work"

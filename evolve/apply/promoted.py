"""What a run promoted, read from its folder. Nothing is believed yet."""

from collections.abc import Mapping

from msgspec import Struct

from bench.config import Config, read_saved_config
from bench.errors import UserError
from bench.project import RunFolder
from bench.skills import Overlay
from evolve.apply.problems import Problem, refusal, refuse
from evolve.errors import ApplyError
from evolve.gate import Promotion
from evolve.promoted import PromotedGeneration, derive_champion, read_generation, read_promotions

_REMEDY = "restore the run folder from a copy, or measure again: evolve"


class PromotedRun(Struct, frozen=True, kw_only=True):
    """A run's promoted generations in order, its configuration, and the stack that their overlays make."""

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
    generations = _generations(run, promotions, config, problems)
    refuse(heading, problems)
    try:
        champion = derive_champion(run, config, generations)
    except UserError as error:
        raise refusal(heading, [Problem(str(error), _REMEDY)]) from error
    return PromotedRun(run=run, config=config, generations=generations, champion=champion)


def _promotions(run: RunFolder) -> tuple[dict[int, Promotion], list[Problem]]:
    """The verdicts of a run by generation, and what is wrong with those that cannot be read."""
    found = {number: promotion for number, _, promotion in read_promotions(run)}
    problems = [Problem(str(each), _REMEDY) for each in found.values() if isinstance(each, UserError)]
    return {number: each for number, each in found.items() if isinstance(each, Promotion)}, problems


def _generations(
    run: RunFolder, promotions: Mapping[int, Promotion], config: Config, problems: list[Problem]
) -> tuple[PromotedGeneration, ...]:
    """The promoted ones; why one cannot be read is added to the problems."""
    generations: list[PromotedGeneration] = []
    for number, promotion in promotions.items():
        try:
            if promotion.decision == "promote":
                generations.append(read_generation(run.path / f"gen-{number}", number, promotion, config))
        except UserError as error:
            problems.append(Problem(str(error), _REMEDY))
    return tuple(generations)


def _decided(promotions: Mapping[int, Promotion]) -> str:
    said = [f"generation {number}: {promotion.decision}" for number, promotion in promotions.items()]
    return ", ".join(said) or "it has no verdict: it was interrupted, or is still at work"

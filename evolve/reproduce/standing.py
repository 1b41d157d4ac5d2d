"""What a generation stood on, as its run recorded it: the skills it had to beat, what it tried, and the words for both."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from bench.config import Config
from bench.errors import NotReproducible, UserError
from bench.skills import Overlay, Skill, apply_overlay, read_overlay, stack_overlays
from bench.sweep import canonical_skills
from evolve.lock import Located
from evolve.promoted import START, PromotedGeneration, read_promotions
from evolve.propose import Proposal, Setting


class Stand(Struct, frozen=True, kw_only=True):
    """The skills of then. `before` is all that was promoted up to there, as one overlay."""

    canonical: Mapping[str, Skill]
    incumbents: Mapping[str, Skill]
    candidates: Mapping[str, Skill]
    before: Overlay | None


class Recorded:
    """The proposer that proposes what was proposed."""

    def __init__(self, proposal: Proposal) -> None:
        self._proposal = proposal

    def propose(self, setting: Setting) -> Proposal | None:  # noqa: ARG002 - the protocol of proposers
        """The recorded proposal."""
        return self._proposal


def stand_of(located: Located, config: Config, generation: PromotedGeneration) -> Stand:
    """The skills that were measured. NotReproducible if the project and the run hold them no longer."""
    place = located.place
    try:
        canonical = canonical_skills(config, place.root)
        start = place.run.path / START
        earlier = [read_overlay(start, config.skills)] if start.exists() else []
        earlier += [
            read_overlay(path.parent / "overlay", config.skills)
            for number, path, promotion in read_promotions(place.run)
            if number < generation.number
            and not isinstance(promotion, UserError)
            and promotion.decision == "promote"
        ]
    except UserError as error:
        raise NotReproducible(f"the skills of {located.name} cannot be read: {error}") from error
    before = stack_overlays(earlier) if earlier else None
    incumbents = canonical if before is None else apply_overlay(canonical, before)
    _refuse_others(located, generation, incumbents)
    return Stand(
        canonical=canonical,
        incumbents=incumbents,
        candidates=apply_overlay(incumbents, generation.overlay),
        before=before,
    )


def proposal_of(located: Located, generation: PromotedGeneration) -> Proposal:
    """What was proposed."""
    try:
        text = (located.place.folder / "proposal.md").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    proposed = generation.proposed
    return Proposal(
        idea=proposed.idea, idea_digest=proposed.idea_digest, files=generation.overlay.files, text=text
    )


def without(value: Config, **changes: object) -> Config:
    """The configuration with these values in place of its own."""
    return msgspec.structs.replace(value, **changes)


def _refuse_others(located: Located, generation: PromotedGeneration, incumbents: Mapping[str, Skill]) -> None:
    then, now = generation.base, {name: skill.digest for name, skill in incumbents.items()}
    others = [name for name, digest in then.items() if now.get(name) != digest]
    if others:
        raise NotReproducible(
            f"{located.name} cannot be run again: the skill {', '.join(others)} is not the one that was measured\n"
            "  put it back as it was (evolve lock verify names what changed), or check the verdict alone: --verdict"
        )

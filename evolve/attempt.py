"""A proposal, ready to be measured: its frozen overlay, the arms that it takes, the skills without and with it."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bench.arms import Arm
from bench.disk import write_whole
from bench.skills import (
    Overlay,
    Skill,
    apply_overlay,
    check_against,
    freeze_overlay,
    make_overlay,
    required_arms,
    stack_overlays,
)
from bench.sweep import Ground, Proposed, make_arms
from evolve.lock import Parent
from evolve.propose import Proposal


class Reigning(Struct, frozen=True):
    """What a generation has to beat: the incumbent skills, and what they hold beyond the project's own `canonical`
    ones. `parent` is the generation that it follows or repeats.
    """

    incumbents: Mapping[str, Skill]
    champion: Overlay | None
    canonical: Mapping[str, Skill]
    parent: Parent | None = None


class Attempt(Struct, frozen=True, kw_only=True):
    """A proposal, ready to be measured: by which arms, against and with which skills."""

    proposal: Proposal
    overlay: Overlay
    champion: Overlay
    base: Mapping[str, Skill]
    skills: Mapping[str, Skill]
    selected: tuple[str, ...]
    arms: Mapping[str, Arm]
    proposed: Proposed


def make_attempt(ground: Ground, proposal: Proposal, overlay: Overlay, reigning: Reigning) -> Attempt:
    """What measuring a proposal against what reigns takes."""
    incumbents = reigning.incumbents
    candidates = apply_overlay(incumbents, overlay)
    selected = tuple(required_arms(ground.config.arms, overlay.touched))
    champion = stack_overlays([*([reigning.champion] if reigning.champion else []), overlay])
    return Attempt(
        proposal=proposal,
        overlay=overlay,
        champion=champion,
        base=dict(incumbents),
        skills=candidates,
        selected=selected,
        arms=make_arms(ground, selected, incumbents, candidates, overlay.digest),
        proposed=_proposed(proposal, (incumbents, candidates), champion),
    )


def freeze_proposal(
    proposal: Proposal, folder: Path, ground: Ground, incumbents: Mapping[str, Skill]
) -> Overlay:
    """The proposal as read-only bytes on disk, read back and checked against the incumbents."""
    write_whole(folder / "proposal.md", proposal.text.encode())
    overlay = make_overlay(proposal.files, ground.config.skills)
    check_against(overlay, incumbents)
    freeze_overlay(overlay, folder / "overlay")
    return overlay


def _proposed(
    proposal: Proposal, skills: tuple[Mapping[str, Skill], Mapping[str, Skill]], champion: Overlay
) -> Proposed:
    """What the plan seals, so that promotion.json can say nothing else afterwards."""
    return Proposed(
        idea=proposal.idea,
        idea_digest=proposal.idea_digest,
        base_skills=skill_digests(skills[0]),
        result_skills=skill_digests(skills[1]),
        champion=champion.digest,
    )


def skill_digests(skills: Mapping[str, Skill]) -> dict[str, str]:
    """The digest of each skill, by name."""
    return {name: skill.digest for name, skill in sorted(skills.items())}
